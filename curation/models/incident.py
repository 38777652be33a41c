from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from episodes.models import App
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import one_of


class IncidentState(models.TextChoices):
    OPEN = "open"
    CONTAINED = "contained"
    CLOSED = "closed"


class Severity(models.TextChoices):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class SourceKind(models.TextChoices):
    """What an investigation started from; `description`: nothing that the store knows."""

    SESSION = "session"
    RECALL = "recall"
    EPISODE = "episode"
    DESCRIPTION = "description"


class Incident(models.Model):
    """Something that went wrong, and is looked into until it is closed.

    `user_id`: the subject whose session, recall or episode it started from, so that an erasure
    finds the texts. `primary key (id, app_id)` in the database (migration 0003).
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    user_id = models.CharField(max_length=256, null=True)
    title = models.CharField(max_length=200)
    description = models.TextField(default="", blank=True)
    severity = models.CharField(max_length=16, choices=Severity.choices, default=Severity.MEDIUM)
    state = models.CharField(
        max_length=16, choices=IncidentState.choices, default=IncidentState.OPEN
    )
    source_kind = models.CharField(max_length=16, choices=SourceKind.choices)
    # The session as its agent names it, or the id of a recall or episode; no foreign key: the
    # incident outlives what it started from.
    source_id = models.CharField(max_length=256, default="", blank=True)
    # How often the state was changed: what a change says it was based on.
    version = models.PositiveIntegerField(default=0)
    opened_at = models.DateTimeField(default=clock.now, db_default=Now())
    opened_by = models.CharField(max_length=200, default="")
    closed_at = models.DateTimeField(null=True)
    closed_by = models.CharField(max_length=200, default="", blank=True)
    closed_reason = models.TextField(default="", blank=True)

    class Meta:
        constraints = [
            one_of("state", IncidentState, "curation_incident_state"),
            one_of("severity", Severity, "curation_incident_severity"),
            one_of("source_kind", SourceKind, "curation_incident_source_kind"),
            models.CheckConstraint(
                condition=Q(source_kind=SourceKind.DESCRIPTION, source_id="")
                | (~Q(source_kind=SourceKind.DESCRIPTION) & ~Q(source_id="")),
                name="curation_incident_names_its_source",
            ),
            models.CheckConstraint(
                condition=~Q(source_kind__in=[SourceKind.SESSION, SourceKind.RECALL])
                | Q(user_id__isnull=False),
                name="curation_incident_session_has_a_subject",
            ),
            models.CheckConstraint(
                condition=Q(state=IncidentState.CLOSED, closed_at__isnull=False)
                | (~Q(state=IncidentState.CLOSED) & Q(closed_at__isnull=True)),
                name="curation_incident_closed_has_a_time",
            ),
        ]
        indexes = [
            # The incidents of an app, newest first.
            models.Index(
                F("app"), F("opened_at").desc(), F("id").desc(), name="incident_newest_of_app"
            ),
            # A subject's incidents (erasure).
            models.Index(
                fields=["app", "user_id"],
                name="incident_of_user",
                condition=Q(user_id__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)
