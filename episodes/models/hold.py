from __future__ import annotations

from datetime import datetime

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from episodes.enums import HoldKind
from episodes.models.app import App
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import ClosedOnce, one_of


class HoldQuerySet(models.QuerySet["Hold"]):
    def standing(self, now: datetime) -> HoldQuerySet:
        """Not lifted, and not past their end: at `until` a hold stands no more."""
        return self.filter(Q(until__isnull=True) | Q(until__gt=now), ended_at__isnull=True)

    def heads(self) -> HoldQuerySet:
        """One row for each hold that a person placed."""
        return self.filter(id=F("hold_id"))


class Hold(models.Model):
    """A legal hold: while it stands, nothing under it expires or is erased.

    One row for each thing that is held. What a person places on a subject, session, episode or
    recall is one row; on an incident it is the incident's row and one for each thing in it, all
    under the `hold_id` of the first. No foreign keys: it is about what may not be there yet, or
    any more. `primary key (id, app_id)` in the database.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    hold_id = models.UUIDField()
    kind = models.CharField(max_length=16, choices=HoldKind.choices)
    # Whose it is; null where it is the organisation's.
    user_id = models.CharField(max_length=256, null=True)
    session_id = models.CharField(max_length=256, null=True)
    episode_id = models.UUIDField(null=True)
    recall_id = models.UUIDField(null=True)
    incident_id = models.UUIDField(null=True)
    reason = models.TextField(default="", blank=True)
    placed_at = models.DateTimeField(default=clock.now, db_default=Now())
    placed_by = models.CharField(max_length=200, default="")
    # Null: until somebody lifts it.
    until = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    ended_by = models.CharField(max_length=200, default="", blank=True)
    end_reason = models.TextField(default="", blank=True)

    objects = HoldQuerySet.as_manager()

    class Meta:
        constraints = [
            one_of("kind", HoldKind, "episodes_hold_kind"),
            models.CheckConstraint(
                condition=Q(
                    kind=HoldKind.SUBJECT,
                    user_id__isnull=False,
                    session_id__isnull=True,
                    episode_id__isnull=True,
                    recall_id__isnull=True,
                )
                | Q(
                    kind=HoldKind.SESSION,
                    user_id__isnull=False,
                    session_id__isnull=False,
                    episode_id__isnull=True,
                    recall_id__isnull=True,
                )
                | Q(
                    kind=HoldKind.EPISODE,
                    session_id__isnull=True,
                    episode_id__isnull=False,
                    recall_id__isnull=True,
                )
                | Q(
                    kind=HoldKind.RECALL,
                    user_id__isnull=False,
                    session_id__isnull=True,
                    episode_id__isnull=True,
                    recall_id__isnull=False,
                )
                | Q(
                    kind=HoldKind.INCIDENT,
                    session_id__isnull=True,
                    episode_id__isnull=True,
                    recall_id__isnull=True,
                    incident_id__isnull=False,
                ),
                name="episodes_hold_names_its_target",
            ),
            models.CheckConstraint(
                condition=~Q(id=F("hold_id")) | ~Q(reason=""), name="episodes_hold_has_a_reason"
            ),
            models.CheckConstraint(
                condition=Q(until__isnull=True) | Q(until__gt=F("placed_at")),
                name="episodes_hold_ends_after_it_begins",
            ),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True) | Q(ended_at__gte=F("placed_at")),
                name="episodes_hold_is_lifted_after_it_was_placed",
            ),
        ]
        indexes = [
            # The sweep and the erasure: is this subject, or this session of it, held?
            models.Index(
                fields=["app", "user_id", "session_id"],
                name="hold_standing_of_user",
                condition=Q(ended_at__isnull=True, user_id__isnull=False),
            ),
            # The sweep: is this episode held?
            models.Index(
                fields=["app", "episode_id"],
                name="hold_standing_of_episode",
                condition=Q(ended_at__isnull=True, episode_id__isnull=False),
            ),
            # The sweep: is this recall held?
            models.Index(
                fields=["app", "recall_id"],
                name="hold_standing_of_recall",
                condition=Q(ended_at__isnull=True, recall_id__isnull=False),
            ),
            # An incident's page, and what is linked to one that is held.
            models.Index(
                fields=["app", "incident_id"],
                name="hold_of_incident",
                condition=Q(incident_id__isnull=False),
            ),
            # Lifting a hold: all its rows.
            models.Index(fields=["app", "hold_id"], name="hold_of_hold"),
            # The holds of an app, newest first.
            models.Index(
                F("app"),
                F("placed_at").desc(),
                F("id").desc(),
                name="hold_newest_of_app",
                condition=Q(id=F("hold_id")),
            ),
            # A subject's holds that were lifted, too (erasure).
            models.Index(
                fields=["app", "user_id"],
                name="hold_of_user",
                condition=Q(user_id__isnull=False),
            ),
        ]
        triggers = [
            ClosedOnce(
                columns=("ended_at", "ended_by", "end_reason"), said=("reason", "end_reason")
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    def stands_at(self, moment: datetime) -> bool:
        return self.ended_at is None and (self.until is None or self.until > moment)
