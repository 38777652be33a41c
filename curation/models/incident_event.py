from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from curation.models.incident import Incident
from episodes.models import App
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import append_only, one_of


class EventKind(models.TextChoices):
    OPENED = "opened"
    NOTE = "note"
    STATE = "state"
    ASSIGNED = "assigned"
    UNASSIGNED = "unassigned"
    LINKED = "linked"
    UNLINKED = "unlinked"
    EXPORTED = "exported"
    TOLD = "told"


class IncidentEvent(models.Model):
    """What was done or noted in an incident. Appended, never edited.

    `user_id`: the subject it is about, so that an erasure finds it; null where it is about none.
    `detail` holds names and ids, {"from", "to"}, {"name"}, {"kind", "target"}, {"sha256"}; what a
    person wrote is in `text`.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    # The foreign key is (incident_id, app_id), made by migration 0003.
    incident = models.ForeignKey(
        Incident,
        on_delete=models.CASCADE,
        related_name="events",
        db_constraint=False,
        db_index=False,
    )
    user_id = models.CharField(max_length=256, null=True)
    kind = models.CharField(max_length=16, choices=EventKind.choices)
    text = models.TextField(default="", blank=True)
    detail = models.JSONField(default=dict)
    at = models.DateTimeField(default=clock.now, db_default=Now())
    by = models.CharField(max_length=200, default="")
    role = models.CharField(max_length=16, default="", blank=True)

    class Meta:
        constraints = [
            one_of("kind", EventKind, "curation_incidentevent_kind"),
            models.CheckConstraint(
                condition=~Q(kind=EventKind.NOTE) | ~Q(text=""),
                name="curation_incidentevent_note_says_something",
            ),
        ]
        indexes = [
            # The events of an incident, in order.
            models.Index(fields=["app", "incident", "at", "id"], name="incidentevent_of_incident"),
            # A subject's events (erasure).
            models.Index(
                fields=["app", "user_id"],
                name="incidentevent_of_user",
                condition=Q(user_id__isnull=False),
            ),
        ]
        triggers = [append_only("text")]

    def __str__(self) -> str:
        return f"{self.kind} of {self.incident_id}"

    @property
    def named(self) -> dict[str, Any]:
        """`detail` for a template, where a missing name is an empty one."""
        return {"from": "", "to": "", "name": "", "kind": "", "target": "", **self.detail}
