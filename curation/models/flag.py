from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from episodes.models import App
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import ClosedOnce, belongs_to_its_head, one_of


class FlagReason(models.TextChoices):
    MISLABELLED = "mislabelled"
    BROKEN_PROCEDURE = "broken_procedure"
    INJECTION = "injection"
    STALE_PROCEDURE = "stale_procedure"
    PERSONAL_DATA = "personal_data"
    OTHER = "other"


class FoundIn(models.TextChoices):
    """Where somebody stood when they flagged it."""

    EPISODE = "episode"
    RECALL = "recall"
    INCIDENT = "incident"
    ALARM = "alarm"


class Flag(models.Model):
    """Somebody says that an episode is harmful precedent. Its id is the change id of the block that
    keeps the episode out of recall from the same transaction on; several flags may stand at once.

    No foreign key to the episode: the flag is evidence, and outlives an episode that retention ends.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    episode_id = models.UUIDField()
    user_id = models.CharField(max_length=256, null=True)
    revision = models.PositiveIntegerField()  # the one served when it was flagged
    reason = models.CharField(max_length=24, choices=FlagReason.choices)
    note = models.TextField()
    found_in = models.CharField(max_length=16, choices=FoundIn.choices, default=FoundIn.EPISODE)
    found_id = models.UUIDField(null=True)
    flagged_at = models.DateTimeField(default=clock.now, db_default=Now())
    flagged_by = models.CharField(max_length=200)
    lifted_at = models.DateTimeField(null=True)
    lifted_by = models.CharField(max_length=200, default="", blank=True)
    lift_reason = models.TextField(default="", blank=True)

    class Meta:
        constraints = [
            one_of("reason", FlagReason, "curation_flag_reason"),
            one_of("found_in", FoundIn, "curation_flag_found_in"),
            models.CheckConstraint(
                condition=Q(found_in=FoundIn.EPISODE, found_id__isnull=True)
                | ~Q(found_in=FoundIn.EPISODE) & Q(found_id__isnull=False),
                name="curation_flag_says_where_it_was_found",
            ),
            models.CheckConstraint(condition=~Q(note=""), name="curation_flag_has_evidence"),
            models.CheckConstraint(
                condition=Q(lifted_at__isnull=True, lifted_by="", lift_reason="")
                | Q(lifted_at__isnull=False, lifted_at__gte=F("flagged_at"))
                & ~Q(lifted_by="")
                & ~Q(lift_reason=""),
                name="curation_flag_is_lifted_with_a_reason",
            ),
        ]
        indexes = [
            # The flags of an episode (its page).
            models.Index(fields=["app", "episode_id", "flagged_at"], name="flag_of_episode"),
            # The list of flags, newest first.
            models.Index(
                F("app"), F("flagged_at").desc(), F("id").desc(), name="flag_newest_of_app"
            ),
            # A subject's flags (erasure).
            models.Index(
                fields=["app", "user_id"], name="flag_of_user", condition=Q(user_id__isnull=False)
            ),
        ]
        triggers = [
            ClosedOnce(
                columns=("lifted_at", "lifted_by", "lift_reason"), said=("note", "lift_reason")
            ),
            belongs_to_its_head(),
        ]

    def __str__(self) -> str:
        return f"{self.reason} of {self.episode_id}"

    @property
    def stands(self) -> bool:
        return self.lifted_at is None
