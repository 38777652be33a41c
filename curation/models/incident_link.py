from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from curation.models.incident import Incident
from episodes.models import App
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import ClosedOnce, one_of


class LinkKind(models.TextChoices):
    """`block`: every block of one change, by its change id."""

    SESSION = "session"
    RECALL = "recall"
    EPISODE = "episode"
    FLAG = "flag"
    CONTAINMENT = "containment"
    BLOCK = "block"


class IncidentLink(models.Model):
    """What an incident has to do with, by id: no foreign key, so that it outlives what it names.

    `user_id`: the subject whose it is; null for what is nobody's.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    incident = models.ForeignKey(
        Incident,
        on_delete=models.CASCADE,
        related_name="links",
        db_constraint=False,
        db_index=False,
    )
    user_id = models.CharField(max_length=256, null=True)
    kind = models.CharField(max_length=16, choices=LinkKind.choices)
    target_id = models.CharField(max_length=256)
    added_at = models.DateTimeField(default=clock.now, db_default=Now())
    added_by = models.CharField(max_length=200, default="")
    removed_at = models.DateTimeField(null=True)
    removed_by = models.CharField(max_length=200, default="", blank=True)

    class Meta:
        constraints = [
            # Also serves the links of an incident. Two subjects may have a session of one name.
            models.UniqueConstraint(
                fields=["app", "incident", "kind", "target_id", "user_id"],
                condition=Q(removed_at__isnull=True),
                nulls_distinct=False,
                name="curation_incidentlink_once",
            ),
            one_of("kind", LinkKind, "curation_incidentlink_kind"),
            models.CheckConstraint(
                condition=~Q(target_id=""), name="curation_incidentlink_names_something"
            ),
            models.CheckConstraint(
                condition=Q(removed_at__isnull=True) | Q(removed_at__gte=F("added_at")),
                name="curation_incidentlink_ends_after_it_begins",
            ),
        ]
        indexes = [
            # Which incidents name this episode or recall (their pages).
            models.Index(
                fields=["app", "kind", "target_id"],
                name="incidentlink_of_target",
                condition=Q(removed_at__isnull=True),
            ),
            # A subject's links (erasure).
            models.Index(
                fields=["app", "user_id"],
                name="incidentlink_of_user",
                condition=Q(user_id__isnull=False),
            ),
        ]
        triggers = [ClosedOnce(columns=("removed_at", "removed_by"))]

    def __str__(self) -> str:
        return f"{self.kind} {self.target_id}"
