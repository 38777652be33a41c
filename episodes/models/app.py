from __future__ import annotations

from typing import Any

import pgtrigger
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Now

from episodes.retention.expiry import Cutoffs, Retention, read_rules
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import append_only


def default_whitelist() -> dict[str, Any]:
    """Return the rule of a new app: every tool's code-shaped values (episodes/ingest/whitelist.py)."""
    return {"*": {"*": "code"}}


class App(models.Model):
    """An agent application: owns episodes and everything that decides about them.

    The two pointers name what search uses now. They are moved in one statement, so that a
    profile or a vector generation changes for every process with the next request.
    """

    name = models.CharField(max_length=100, unique=True)
    argument_whitelist = models.JSONField(default=default_whitelist)
    profile = models.ForeignKey(
        "RankingProfile", null=True, on_delete=models.PROTECT, related_name="+"
    )
    generation = models.ForeignKey(
        "VectorGeneration", null=True, on_delete=models.PROTECT, related_name="+"
    )
    idle_seconds = models.PositiveIntegerField(default=3600)
    retention_days = models.PositiveIntegerField(default=180)
    # What the standing policies say of age, in order, as every read needs it: kept by
    # episodes/retention/policies.py in the transaction that writes the policies (expiry.py reads).
    retention_rules = models.JSONField(default=list, db_default=Value([], models.JSONField()))
    # How often retention was changed: what a change says it was based on.
    retention_version = models.PositiveIntegerField(default=0, db_default=0)
    # How long the recall log and feedback are kept; null: as long as episodes by default.
    log_days = models.PositiveIntegerField(null=True)
    # When the sweep last came to its end here.
    swept_at = models.DateTimeField(null=True)
    promotion_threshold = models.PositiveSmallIntegerField(default=3)
    control_share = models.FloatField(default=0.0)
    review_rules = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=clock.now, db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(name__regex=r"^[A-Za-z0-9][A-Za-z0-9._-]*$"),
                name="episodes_app_name_shape",
            ),
            models.CheckConstraint(
                condition=Q(control_share__gte=0.0, control_share__lte=1.0),
                name="episodes_app_control_share_is_a_share",
            ),
            models.CheckConstraint(
                condition=Q(retention_days__gte=1, retention_days__lte=36_500),
                name="episodes_app_retention_from_a_day_to_a_century",
            ),
            models.CheckConstraint(
                condition=Q(log_days__isnull=True) | Q(log_days__gte=1, log_days__lte=36_500),
                name="episodes_app_log_from_a_day_to_a_century",
            ),
            models.CheckConstraint(
                condition=Q(promotion_threshold__gte=1), name="episodes_app_promotion_threshold"
            ),
        ]
        triggers: list[pgtrigger.Trigger] = [
            # With another app's the lookup of a key finds nothing, and each key is refused. A
            # profile never changes, and goes with its app only.
            pgtrigger.Trigger(
                name="ranks_by_its_own_profile",
                operation=pgtrigger.Insert | pgtrigger.UpdateOf("profile_id"),
                when=pgtrigger.Before,
                func="""
                    IF NEW.profile_id IS NOT NULL AND NOT EXISTS (
                        SELECT FROM episodes_rankingprofile p
                        WHERE p.id = NEW.profile_id AND p.app_id = NEW.id)
                    THEN
                        RAISE EXCEPTION 'an app ranks by a profile of its own'
                            USING ERRCODE = 'restrict_violation';
                    END IF;
                    RETURN NEW;
                """,
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def retention(self) -> Retention:
        return Retention(self.retention_days, read_rules(self.retention_rules))

    @property
    def cutoffs(self) -> Cutoffs:
        """By which episodes have expired now."""
        return self.retention.at(clock.now())


WEIGHTS = (
    "success",
    "partial",
    "failure",
    "escalated",
    "unknown",
    "abandoned",
    "toolset_current",
    "toolset_other",
    "toolset_unknown",
    "identifier_weight",
    "text_weight",
)


class RankingProfile(models.Model):
    """Every constant of the recall rule (product.md §3), one row a version, never edited.

    `minimum` and `failure_threshold` are null where the embedder's own measured value holds.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.CASCADE, related_name="profiles")
    name = models.CharField(max_length=64, default="default")
    version = models.PositiveIntegerField()
    success = models.FloatField(default=1.0)
    partial = models.FloatField(default=0.7)
    failure = models.FloatField(default=0.6)
    escalated = models.FloatField(default=0.5)
    unknown = models.FloatField(default=0.4)
    abandoned = models.FloatField(default=0.3)
    toolset_current = models.FloatField(default=1.0)
    toolset_other = models.FloatField(default=0.3)
    toolset_unknown = models.FloatField(default=0.7)
    decay_days = models.FloatField(default=90.0)
    identifier_weight = models.FloatField(default=0.9)
    text_weight = models.FloatField(default=0.5)
    minimum = models.FloatField(null=True)
    # What text must reach where there is no cosine that the embedder's minimum could judge.
    text_minimum = models.FloatField(default=0.25)
    failure_threshold = models.FloatField(null=True)
    max_results = models.PositiveSmallIntegerField(default=2)
    window = models.PositiveIntegerField(default=20_000)
    created_at = models.DateTimeField(default=clock.now, db_default=Now())
    created_by = models.CharField(max_length=200, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                F("app"), F("name"), F("version"), name="episodes_rankingprofile_one_per_version"
            ),
            # Upper bounds, too: NaN is above every number, and one would fail every search.
            models.CheckConstraint(
                condition=Q(**{f"{name}__gte": 0.0 for name in WEIGHTS})
                & Q(**{f"{name}__lte": 10.0 for name in WEIGHTS}),
                name="episodes_rankingprofile_weights_in_bounds",
            ),
            models.CheckConstraint(
                condition=Q(text_minimum__gte=0.0, text_minimum__lte=1.0)
                & (Q(minimum__isnull=True) | Q(minimum__gte=0.0, minimum__lte=1.0))
                & (
                    Q(failure_threshold__isnull=True)
                    | Q(failure_threshold__gte=0.0, failure_threshold__lte=1.0)
                ),
                name="episodes_rankingprofile_thresholds_in_bounds",
            ),
            models.CheckConstraint(
                condition=Q(
                    decay_days__gte=1.0,
                    decay_days__lte=36_500.0,
                    max_results__gte=1,
                    max_results__lte=20,
                    window__gte=1,
                    window__lte=1_000_000,
                ),
                name="episodes_rankingprofile_sane_bounds",
            ),
        ]
        triggers: list[pgtrigger.Trigger] = [append_only()]

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"
