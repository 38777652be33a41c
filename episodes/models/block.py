from __future__ import annotations

from django.db import models
from django.db.models import Exists, F, OuterRef, Q, Value
from django.db.models.functions import Now

from episodes.enums import BlockKind
from episodes.models.app import App
from episodes.models.episode import Episode
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import HAS_REVISION, ClosedOnce, belongs_to_its_head, one_of


class BlockQuerySet(models.QuerySet["Block"]):
    def standing(self) -> BlockQuerySet:
        """Not lifted."""
        return self.filter(closed_at__isnull=True)

    def of_served(self, served: int | F | OuterRef) -> BlockQuerySet:
        """What keeps an episode out of recall while `served` is its revision: a block of the whole
        episode, or of this very revision. One that holds another revision keeps nobody from this
        one."""
        return self.filter(of_served(served))


def of_served(served: int | F | OuterRef) -> Q:
    return Q(revision__isnull=True) | Q(revision=served)


def of_newer(served: int | F | OuterRef) -> Q:
    """What keeps a revision from being served that came after it."""
    return Q(revision__gt=served)


class Block(models.Model):
    """An interval during which an episode is kept out of recall, for one change.

    With a `revision` it keeps that revision from being served (held at ingest); without one it
    blocks the episode whatever is served. Lifting closes only the rows of its own change.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    episode = models.ForeignKey(
        Episode,
        on_delete=models.CASCADE,
        related_name="blocks",
        db_constraint=False,
        db_index=False,
    )
    user_id = models.CharField(max_length=256, null=True)
    revision = models.PositiveIntegerField(null=True)
    kind = models.CharField(max_length=16, choices=BlockKind.choices)
    change_id = models.UUIDField(default=ids.new_id)
    reason = models.CharField(max_length=64, default="", blank=True)
    # The figures of the rule that opened it, never text: {"share": 0.3, "of": 60, ...}.
    figures = models.JSONField(default=dict, db_default=Value({}, models.JSONField()))
    opened_at = models.DateTimeField(default=clock.now, db_default=Now())
    opened_by = models.CharField(max_length=200, default="")
    closed_at = models.DateTimeField(null=True)
    closed_by = models.CharField(max_length=200, default="", blank=True)

    objects = BlockQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["app", "episode", "change_id"],
                condition=Q(closed_at__isnull=True),
                name="episodes_block_one_open_per_change",
            ),
            models.CheckConstraint(
                condition=Q(closed_at__isnull=True) | Q(closed_at__gte=F("opened_at")),
                name="episodes_block_ends_after_it_begins",
            ),
            one_of("kind", BlockKind, "episodes_block_kind"),
        ]
        indexes = [
            # Erasure: a subject's rows, and those that are nobody's.
            models.Index(fields=["app", "user_id"], name="block_of_user"),
            # The blocks of an episode (recall_state, its page) and "blocked as of a date".
            models.Index(fields=["app", "episode", "opened_at"], name="block_of_episode"),
            # Lifting a change: all its open rows.
            models.Index(
                fields=["app", "change_id"],
                name="block_open_of_change",
                condition=Q(closed_at__isnull=True),
            ),
        ]
        triggers = [
            ClosedOnce(columns=("closed_at", "closed_by")),
            belongs_to_its_head(f"(NEW.revision IS NULL OR {HAS_REVISION})"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.episode_id}"

    def keeps_out(self, served: int) -> bool:
        """BlockQuerySet.of_served for a row that is at hand."""
        return self.revision in (None, served)


def kept_out_by(kind: BlockKind | None = None) -> Exists:
    """A condition on heads: a standing block, of this kind if one is given, keeps what is served
    out of recall."""
    return _blocked(Block.objects.standing().of_served(OuterRef("revision")), kind)


def newer_is_held() -> Exists:
    """A condition on heads: a revision newer than the one served waits for a person."""
    return _blocked(Block.objects.standing().filter(of_newer(OuterRef("revision"))), BlockKind.HELD)


def _blocked(rows: BlockQuerySet, kind: BlockKind | None) -> Exists:
    rows = rows.filter(app_id=OuterRef("app_id"), episode_id=OuterRef("id"))
    return Exists(rows if kind is None else rows.filter(kind=kind))
