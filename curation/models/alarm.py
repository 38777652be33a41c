from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from episodes.models import App, Episode
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import ClosedOnce, belongs_to_its_head, one_of


class AlarmKind(models.TextChoices):
    """What makes an episode conspicuous: live traffic, or what another app found of its origin."""

    RETRIEVAL_SHARE = "retrieval_share"
    OUTCOME_AFTER_RECALL = "outcome_after_recall"
    ORIGIN_FLAGGED = "origin_flagged"
    ORIGIN_WITHDRAWN = "origin_withdrawn"


class AlarmEnd(models.TextChoices):
    DISMISSED = "dismissed"
    FLAGGED = "flagged"


class Alarm(models.Model):
    """Something made an episode conspicuous: a question to a person, no verdict.

    It blocks nothing. `figures` are what a rule over the recall log saw when it was raised, numbers only.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    # The foreign key is (episode_id, app_id), made by migration 0002_alarms.
    episode = models.ForeignKey(
        Episode, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    user_id = models.CharField(max_length=256, null=True)
    kind = models.CharField(max_length=32, choices=AlarmKind.choices)
    figures = models.JSONField(default=dict)
    raised_at = models.DateTimeField(default=clock.now, db_default=Now())
    closed_at = models.DateTimeField(null=True)
    closed_by = models.CharField(max_length=200, default="", blank=True)
    ending = models.CharField(max_length=16, choices=AlarmEnd.choices, null=True)
    # Why it was dismissed, or what it was flagged for: free text about a subject, masked.
    reason = models.TextField(default="", blank=True)

    class Meta:
        constraints = [
            # Two runs of the task at once: one of them raises it.
            models.UniqueConstraint(
                fields=["app", "episode", "kind"],
                condition=Q(closed_at__isnull=True),
                name="curation_alarm_one_open_per_kind",
            ),
            models.CheckConstraint(
                condition=Q(closed_at__isnull=True, ending__isnull=True)
                | Q(closed_at__isnull=False, ending__isnull=False),
                name="curation_alarm_closed_has_an_ending",
            ),
            models.CheckConstraint(
                condition=Q(closed_at__isnull=True) | Q(closed_at__gte=F("raised_at")),
                name="curation_alarm_ends_after_it_begins",
            ),
            one_of("kind", AlarmKind, "curation_alarm_kind"),
            one_of("ending", AlarmEnd, "curation_alarm_ending", null=True),
        ]
        indexes = [
            # An episode's alarms (its page), and when one was dismissed last (alarms.raise_alarms).
            models.Index(fields=["app", "episode", "raised_at"], name="alarm_of_episode"),
            # The queue: every episode with an open alarm.
            models.Index(
                fields=["app", "episode"], name="alarm_open", condition=Q(closed_at__isnull=True)
            ),
            # A subject's alarms (erasure).
            models.Index(
                fields=["app", "user_id"],
                name="alarm_of_user",
                condition=Q(user_id__isnull=False),
            ),
        ]
        triggers = [
            ClosedOnce(columns=("closed_at", "closed_by", "ending", "reason"), said=("reason",)),
            belongs_to_its_head(),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.episode_id}"
