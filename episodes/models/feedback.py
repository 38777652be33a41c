from __future__ import annotations

import pgtrigger
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from episodes.enums import Rating
from episodes.models.app import App
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import append_only, one_of


class Feedback(models.Model):
    """What a user said about a session: evidence for a reviewer, never an outcome by itself.

    It has no foreign key to the episode, because it may come before it.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    user_id = models.CharField(max_length=256)
    session_id = models.CharField(max_length=256)
    feedback_id = models.CharField(max_length=256, null=True)
    rating = models.CharField(max_length=16, choices=Rating.choices)
    comment = models.TextField(default="", blank=True)
    source = models.CharField(max_length=64, default="", blank=True)
    at = models.DateTimeField()
    received_at = models.DateTimeField(default=clock.now, db_default=Now())
    # Provenance, assigned by the server.
    written_by = models.CharField(max_length=200, default="", db_default="")
    key_prefix = models.CharField(max_length=16, default="", blank=True)
    route = models.CharField(max_length=64, default="", db_default="", blank=True)
    address_hash = models.CharField(max_length=64, default="", db_default="", blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["app", "user_id", "feedback_id"],
                condition=Q(feedback_id__isnull=False),
                name="episodes_feedback_one_per_id",
            ),
            one_of("rating", Rating, "episodes_feedback_rating"),
            models.CheckConstraint(
                condition=~Q(user_id="") & ~Q(session_id=""), name="episodes_feedback_has_a_session"
            ),
        ]
        indexes = [
            # The feedback beside an episode.
            models.Index(fields=["app", "user_id", "session_id"], name="feedback_of_session"),
            # A key's page: how much it passed on.
            models.Index(fields=["app", "key_prefix"], name="feedback_of_key"),
            # The retention sweep: an app's oldest.
            models.Index(fields=["app", "received_at"], name="feedback_expiry"),
        ]
        triggers: list[pgtrigger.Trigger] = [append_only()]

    def __str__(self) -> str:
        return self.rating
