from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from curation.models.incident import Incident
from episodes.models import App
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import ClosedOnce


class IncidentPerson(models.Model):
    """Somebody who works on an incident, by name: the row outlives the account."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    incident = models.ForeignKey(
        Incident,
        on_delete=models.CASCADE,
        related_name="people",
        db_constraint=False,
        db_index=False,
    )
    name = models.CharField(max_length=200)
    added_at = models.DateTimeField(default=clock.now, db_default=Now())
    added_by = models.CharField(max_length=200, default="")
    removed_at = models.DateTimeField(null=True)
    removed_by = models.CharField(max_length=200, default="", blank=True)

    class Meta:
        constraints = [
            # Also serves the people of an incident.
            models.UniqueConstraint(
                fields=["app", "incident", "name"],
                condition=Q(removed_at__isnull=True),
                name="curation_incidentperson_once",
            ),
            models.CheckConstraint(
                condition=Q(removed_at__isnull=True) | Q(removed_at__gte=F("added_at")),
                name="curation_incidentperson_leaves_after_joining",
            ),
        ]
        triggers = [ClosedOnce(columns=("removed_at", "removed_by"))]

    def __str__(self) -> str:
        return self.name
