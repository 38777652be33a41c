from __future__ import annotations

import pgtrigger
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from episodes.enums import Outcome, OutcomeSource
from episodes.models.app import App
from episodes.models.episode import Episode
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import HAS_REVISION, append_only, belongs_to_its_head


class OutcomeEntry(models.Model):
    """One statement about how an episode ended, or the retraction of one. Appended, never edited.

    A retraction names the entry that it takes back and states no outcome itself.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    episode = models.ForeignKey(
        Episode,
        on_delete=models.CASCADE,
        related_name="entries",
        db_constraint=False,
        db_index=False,
    )
    user_id = models.CharField(max_length=256, null=True)
    # Counted under the head's lock: what came later, whichever host's clock said so.
    seq = models.PositiveIntegerField()
    # The revision that was judged.
    revision = models.PositiveIntegerField()
    outcome = models.CharField(max_length=16, choices=Outcome.choices, null=True)
    source = models.CharField(max_length=16, choices=OutcomeSource.choices)
    score = models.FloatField(null=True)
    reason = models.TextField(default="", blank=True)
    evidence = models.JSONField(default=dict)
    retracts = models.UUIDField(null=True)
    # Provenance, assigned by the server.
    stated_by = models.CharField(max_length=200, default="")
    key_prefix = models.CharField(max_length=16, default="", blank=True)
    route = models.CharField(max_length=64, default="", db_default="", blank=True)
    address_hash = models.CharField(max_length=64, default="", db_default="", blank=True)
    at = models.DateTimeField(default=clock.now, db_default=Now())
    # Of a statement that an import brought: when it was made, and whose word it was there if that
    # is more than it can be here.
    said_at = models.DateTimeField(null=True)
    attributed_to = models.CharField(
        max_length=16, choices=OutcomeSource.choices, default="", db_default="", blank=True
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(attributed_to="")
                | Q(attributed_to__in=OutcomeSource.values, source=OutcomeSource.AGENT_CLAIM),
                name="episodes_outcomeentry_only_a_claim_is_attributed",
            ),
            models.CheckConstraint(
                condition=Q(outcome__isnull=True, retracts__isnull=False)
                | Q(outcome__isnull=False, outcome__in=Outcome.values, retracts__isnull=True),
                name="episodes_outcomeentry_states_or_retracts",
            ),
            models.CheckConstraint(
                condition=Q(source__in=OutcomeSource.values), name="episodes_outcomeentry_source"
            ),
            models.UniqueConstraint(
                fields=["app", "episode", "seq"], name="episodes_outcomeentry_one_per_seq"
            ),
            # Two people undo the same entry: one of them does.
            models.UniqueConstraint(
                fields=["app", "episode", "retracts"],
                condition=Q(retracts__isnull=False),
                name="episodes_outcomeentry_retracted_once",
            ),
        ]
        indexes = [
            # Erasure: a subject's rows, and those that are nobody's.
            models.Index(fields=["app", "user_id"], name="outcomeentry_of_user"),
            # A key's page: what it stated, newest first.
            models.Index(
                F("app"),
                F("key_prefix"),
                F("at").desc(),
                name="outcomeentry_of_key",
                condition=~Q(key_prefix=""),
            ),
            # The console: what one person decided lately, and may take back.
            models.Index(
                F("app"),
                F("stated_by"),
                F("at").desc(),
                name="outcomeentry_of_person",
                condition=Q(source__in=[OutcomeSource.RESOLUTION, OutcomeSource.REVIEWER]),
            ),
        ]
        triggers: list[pgtrigger.Trigger] = [
            append_only("reason"),
            belongs_to_its_head(
                HAS_REVISION,
                """(NEW.retracts IS NULL OR EXISTS (
                    SELECT FROM episodes_outcomeentry taken
                    WHERE taken.id = NEW.retracts AND taken.app_id = NEW.app_id
                        AND taken.episode_id = NEW.episode_id AND taken.retracts IS NULL))""",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.source}: {self.outcome or 'retraction'}"
