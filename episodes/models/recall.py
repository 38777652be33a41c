from __future__ import annotations

import pgtrigger
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q, Value

from episodes.enums import (
    Arm,
    Outcome,
    OutcomeSource,
    RecallMode,
    Scope,
    SearchedScope,
    ToolsetRelation,
)
from episodes.models.app import App
from memoryadmin.lib.constraints import append_only, one_of


class Recall(models.Model):
    """One search by an agent, as it was answered. No foreign key in or out: it outlives what it
    names and can be partitioned by month (`recalled_at` is in every key)."""

    pk = models.CompositePrimaryKey("app_id", "recalled_at", "id")
    app = models.ForeignKey(
        App, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False
    )
    recalled_at = models.DateTimeField()
    # UUIDv7: its own timestamp is `recalled_at`, which finds its partition.
    id = models.UUIDField()
    user_id = models.CharField(max_length=256)
    session_id = models.CharField(max_length=256, null=True)
    invocation_id = models.CharField(max_length=256, null=True)
    agent_id = models.CharField(max_length=256, default="", blank=True)
    scope = models.CharField(max_length=8)
    query = models.TextField()
    query_tokens = ArrayField(models.TextField(), default=list)
    filters = models.JSONField(default=dict)
    toolset_version = models.CharField(max_length=128, default="", blank=True)
    result_limit = models.PositiveSmallIntegerField()
    profile = models.CharField(max_length=80)
    # What the profile left to the generation or the app, as it was then.
    minimum = models.FloatField()
    text_minimum = models.FloatField()
    failure_threshold = models.FloatField()
    window = models.PositiveIntegerField()
    cutoff = models.DateTimeField()
    # The rules of retention beside the default, whose cut-off that is (retention/expiry.py).
    retention = models.JSONField(default=list, db_default=Value([], models.JSONField()))
    include_failures = models.BooleanField(default=False)
    generation_id = models.BigIntegerField(null=True)
    arm = models.CharField(max_length=16, choices=Arm.choices, null=True)
    mode = models.CharField(max_length=16, choices=RecallMode.choices)
    degraded = models.BooleanField(default=False)
    explained = models.BooleanField(default=False)
    candidates = models.PositiveIntegerField()
    # What won, also where the control arm was sent nothing of it: `n_served` says what was.
    n_hits = models.PositiveSmallIntegerField()
    # The best that were not served, with what they would be weighed by under another profile:
    # [{"episode_id", "scope", "revision", "reason", "similarity", "text", "outcome",
    # "outcome_source", "toolset", "age_days", "score"}].
    excluded = models.JSONField(default=list)
    # Provenance, assigned by the server.
    key_prefix = models.CharField(max_length=16, default="", blank=True)
    route = models.CharField(max_length=64, default="", db_default="", blank=True)
    address_hash = models.CharField(max_length=64, default="", db_default="", blank=True)
    request_id = models.CharField(max_length=64, default="", blank=True)

    class Meta:
        constraints = [
            one_of("mode", RecallMode, "episodes_recall_mode"),
            one_of("arm", Arm, "episodes_recall_arm", null=True),
            one_of("scope", SearchedScope, "episodes_recall_scope"),
        ]
        indexes = [
            # One recall by its id.
            models.Index(fields=["app", "id"], name="recall_by_id"),
            # What a run recalled (incidents, lineage), and a subject's recalls (erasure).
            models.Index(F("app"), F("user_id"), F("session_id"), name="recall_of_session"),
            # Incidents and GET /recalls start from a session id alone.
            models.Index(
                fields=["app", "session_id"],
                name="recall_by_session",
                condition=Q(session_id__isnull=False),
            ),
            # Console filter: what one key searched for, newest first.
            models.Index(
                F("app"),
                F("key_prefix"),
                F("recalled_at").desc(),
                F("id").desc(),
                name="recall_of_key",
            ),
            # Console filter: the recalls that had to do without a vector, which are few.
            models.Index(
                fields=["app", "recalled_at"],
                name="recall_degraded",
                condition=Q(degraded=True),
            ),
        ]
        triggers: list[pgtrigger.Trigger] = [append_only()]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def is_held_out(self) -> bool:
        """Whether the experiment kept back what was found."""
        return self.arm == Arm.CONTROL

    @property
    def n_served(self) -> int:
        return 0 if self.is_held_out else self.n_hits


class RecallHit(models.Model):
    """One precedent as it was served, with every factor of its score ("served, since deleted")."""

    pk = models.CompositePrimaryKey("app_id", "recalled_at", "recall_id", "rank")
    app = models.ForeignKey(
        App, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False
    )
    recalled_at = models.DateTimeField()
    recall_id = models.UUIDField()
    rank = models.PositiveSmallIntegerField()
    # False: the control arm would have been given this.
    served = models.BooleanField(default=True)
    user_id = models.CharField(max_length=256)
    episode_id = models.UUIDField()
    revision = models.PositiveIntegerField()
    scope = models.CharField(max_length=8)
    content_hash = models.CharField(max_length=64)
    outcome = models.CharField(max_length=16)
    outcome_source = models.CharField(max_length=16, null=True)
    reviewed = models.BooleanField()
    completed_at = models.DateTimeField()
    similarity = models.FloatField(null=True)
    text = models.FloatField()
    relevance = models.FloatField()
    outcome_weight = models.FloatField()
    toolset = models.CharField(max_length=16)
    toolset_weight = models.FloatField()
    age_days = models.FloatField()
    decay = models.FloatField()
    score = models.FloatField()

    class Meta:
        constraints = [
            one_of("scope", Scope, "episodes_recallhit_scope"),
            one_of("outcome", Outcome, "episodes_recallhit_outcome"),
            one_of("outcome_source", OutcomeSource, "episodes_recallhit_source", null=True),
            one_of("toolset", ToolsetRelation, "episodes_recallhit_toolset"),
        ]
        indexes = [
            # Reach: every recall of an episode.
            models.Index(fields=["app", "episode_id", "recalled_at"], name="recallhit_of_episode"),
            # A subject's hits (erasure).
            models.Index(fields=["app", "user_id"], name="recallhit_of_user"),
        ]
        triggers: list[pgtrigger.Trigger] = [append_only()]

    def __str__(self) -> str:
        return f"{self.recall_id}#{self.rank}"
