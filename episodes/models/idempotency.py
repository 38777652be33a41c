from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models.functions import Now

from episodes.models.app import App
from memoryadmin.lib import clock, ids


class IdempotencyRecord(models.Model):
    """One Idempotency-Key of one API key: the digest of its request, then ids and statuses only."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.CASCADE, related_name="+", db_index=False)
    key_prefix = models.CharField(max_length=16)
    # The caller's key and body, hashed: neither is ours to keep.
    key_hash = models.BinaryField(max_length=32)
    body_hash = models.BinaryField(max_length=32)
    # Every subject that the request named, by its keyed hash; a batch names many. Written before
    # anybody has asked whether a subject was erased, so that its id must not stand here.
    subject_hashes = ArrayField(models.BinaryField(max_length=32), default=list)
    # Null while the first request is in flight.
    status = models.PositiveSmallIntegerField(null=True)
    answer = models.JSONField(null=True)
    created_at = models.DateTimeField(default=clock.now, db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["app", "key_prefix", "key_hash"],
                name="episodes_idempotencyrecord_one_per_key",
            ),
        ]
        indexes = [
            # The hourly purge of what is older than a day.
            models.Index(fields=["created_at"], name="idempotencyrecord_age"),
            # A subject's records (erasure).
            GinIndex(fields=["subject_hashes"], name="idempotencyrecord_of_subject"),
        ]

    def __str__(self) -> str:
        return str(self.id)
