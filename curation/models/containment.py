from __future__ import annotations

import pgtrigger
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from curation.models.flag import Flag
from episodes.models import App
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import ClosedOnce, one_of

BELONGS_TO_ITS_FLAG = """
    IF NOT EXISTS (
        SELECT FROM curation_flag flag
        WHERE flag.id = NEW.flag_id AND flag.app_id = NEW.app_id
            AND flag.user_id IS NOT DISTINCT FROM NEW.user_id
    ) THEN
        RAISE EXCEPTION 'a row of % does not belong to its flag', TG_TABLE_NAME
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
"""


class Extent(models.TextChoices):
    """How much of the reach was blocked."""

    ALL = "all"
    DEPTH = "depth"
    PART = "part"


class Containment(models.Model):
    """A blocked closure: what a flagged episode reached, taken out of recall together. Its id is the
    change id of those blocks, which are lifted by it. `seen`: digest of the reach as previewed.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    # The foreign key is (flag_id, app_id), made by the migration.
    flag = models.ForeignKey(
        Flag,
        on_delete=models.CASCADE,
        related_name="containments",
        db_constraint=False,
        db_index=False,
    )
    user_id = models.CharField(max_length=256, null=True)
    extent = models.CharField(max_length=8, choices=Extent.choices)
    depth = models.PositiveSmallIntegerField(null=True)
    n_reached = models.PositiveIntegerField()
    n_blocked = models.PositiveIntegerField()
    seen = models.CharField(max_length=64)
    reason = models.TextField()
    blocked_at = models.DateTimeField(default=clock.now, db_default=Now())
    blocked_by = models.CharField(max_length=200)
    lifted_at = models.DateTimeField(null=True)
    lifted_by = models.CharField(max_length=200, default="", blank=True)
    lift_reason = models.TextField(default="", blank=True)

    class Meta:
        constraints = [
            one_of("extent", Extent, "curation_containment_extent"),
            models.CheckConstraint(
                condition=Q(extent=Extent.DEPTH, depth__isnull=False, depth__gte=1)
                | ~Q(extent=Extent.DEPTH) & Q(depth__isnull=True),
                name="curation_containment_depth_fits_extent",
            ),
            models.CheckConstraint(
                condition=Q(n_blocked__gte=1) & Q(n_blocked__lte=F("n_reached")),
                name="curation_containment_blocks_something",
            ),
            models.CheckConstraint(
                condition=~Q(reason=""), name="curation_containment_has_a_reason"
            ),
            models.CheckConstraint(
                condition=Q(lifted_at__isnull=True, lifted_by="", lift_reason="")
                | Q(lifted_at__isnull=False, lifted_at__gte=F("blocked_at"))
                & ~Q(lifted_by="")
                & ~Q(lift_reason=""),
                name="curation_containment_is_lifted_with_a_reason",
            ),
        ]
        indexes = [
            # The blocked closures of a flag (its page, and what is left to block).
            models.Index(fields=["app", "flag", "blocked_at"], name="containment_of_flag"),
            # A subject's rows (erasure).
            models.Index(
                fields=["app", "user_id"],
                name="containment_of_user",
                condition=Q(user_id__isnull=False),
            ),
        ]
        triggers = [
            ClosedOnce(
                columns=("lifted_at", "lifted_by", "lift_reason"), said=("reason", "lift_reason")
            ),
            pgtrigger.Trigger(
                name="belongs_to_its_flag",
                operation=pgtrigger.Insert,
                when=pgtrigger.Before,
                func=BELONGS_TO_ITS_FLAG,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.n_blocked} reached from {self.flag_id}"

    @property
    def stands(self) -> bool:
        return self.lifted_at is None
