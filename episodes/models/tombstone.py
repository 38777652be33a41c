from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from episodes.models.app import App
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import ClosedOnce

STANDS = Q(readmitted_at__isnull=True)
STANDS_SQL = "readmitted_at IS NULL"


class TombstoneQuerySet(models.QuerySet["Tombstone"]):
    def standing(self) -> TombstoneQuerySet:
        """Of those who were not re-admitted."""
        return self.filter(STANDS)


class Tombstone(models.Model):
    """An erased subject, known only by a keyed hash; refuses its late writes until re-admitted."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    subject_hash = models.BinaryField(max_length=32)
    # Which MEMORYADMIN_HASH_KEY made the hash: under another one nobody would be recognised.
    key_id = models.CharField(max_length=16)
    created_at = models.DateTimeField(default=clock.now, db_default=Now())
    readmitted_at = models.DateTimeField(null=True)
    readmitted_by = models.CharField(max_length=200, default="", blank=True)

    objects = TombstoneQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                F("app"),
                F("subject_hash"),
                condition=STANDS,
                name="episodes_tombstone_one_standing",
            ),
        ]
        triggers = [ClosedOnce(columns=("readmitted_at", "readmitted_by"), kept_for_good=True)]

    def __str__(self) -> str:
        return str(self.id)
