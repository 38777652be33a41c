from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from curation.models.incident import Incident
from episodes.models import App
from memoryadmin.lib import clock, ids


class IncidentHook(models.Model):
    """Where an app's owner wants to be told which sessions an incident touched."""

    app = models.OneToOneField(App, on_delete=models.CASCADE, primary_key=True, related_name="+")
    url = models.CharField(max_length=500)
    changed_at = models.DateTimeField(default=clock.now, db_default=Now())
    changed_by = models.CharField(max_length=200, default="")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(url__startswith="https://") | Q(url__startswith="http://"),
                name="curation_incidenthook_is_http",
            ),
        ]

    def __str__(self) -> str:
        return f"hook of {self.app_id}"


class IncidentNotice(models.Model):
    """One telling of an app's owner, until it is delivered or given up.

    Holds no subject: what is sent is read anew at each attempt, so that an erasure in between
    leaves nothing to send.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    incident = models.ForeignKey(
        Incident,
        on_delete=models.CASCADE,
        related_name="notices",
        db_constraint=False,
        db_index=False,
    )
    requested_at = models.DateTimeField(default=clock.now, db_default=Now())
    requested_by = models.CharField(max_length=200, default="")
    attempts = models.PositiveSmallIntegerField(default=0)
    # Null: nothing more to do, it was delivered or given up.
    next_attempt_at = models.DateTimeField(null=True, default=clock.now)
    delivered_at = models.DateTimeField(null=True)
    n_sessions = models.PositiveIntegerField(null=True)
    # Of the body that was delivered, hex.
    sha256 = models.CharField(max_length=64, default="", blank=True)
    last_error = models.CharField(max_length=64, default="", blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(delivered_at__isnull=True) | Q(next_attempt_at__isnull=True),
                name="curation_incidentnotice_delivered_is_done",
            ),
        ]
        indexes = [
            # tell_owners: what is due, oldest first.
            models.Index(
                fields=["next_attempt_at"],
                name="incidentnotice_due",
                condition=Q(next_attempt_at__isnull=False),
            ),
            # The notices of an incident.
            models.Index(
                fields=["app", "incident", "requested_at"], name="incidentnotice_of_incident"
            ),
        ]

    def __str__(self) -> str:
        return f"notice of {self.incident_id}"
