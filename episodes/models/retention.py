from __future__ import annotations

from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Now

from episodes.enums import Outcome, ReviewState, Scope
from episodes.models.app import App
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import ChangesOnly, ClosedOnce, one_of


class RetentionPolicy(models.Model):
    """One standing of a policy of an app: which episodes it decides about, and when they expire.

    The first policy that fits an episode, by `position`, decides alone. A condition that is null
    fits all. An episode expires when it is older than `age_days` (null: the app's default), when
    its toolset has been retired for `retired_days`, or when `keep_newest` of the policy's episodes
    are newer. A changed policy is a new row.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    name = models.CharField(max_length=100)
    position = models.PositiveSmallIntegerField()
    outcome = models.CharField(max_length=16, choices=Outcome.choices, null=True)
    scope = models.CharField(max_length=8, choices=Scope.choices, null=True)
    review_state = models.CharField(max_length=24, choices=ReviewState.choices, null=True)
    promoted = models.BooleanField(null=True)
    age_days = models.PositiveIntegerField(null=True)
    keep_newest = models.PositiveIntegerField(null=True)
    retired_days = models.PositiveIntegerField(null=True)
    made_at = models.DateTimeField(default=clock.now, db_default=Now())
    made_by = models.CharField(max_length=200, default="")
    ended_at = models.DateTimeField(null=True)
    ended_by = models.CharField(max_length=200, default="", blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["app", "position"],
                condition=Q(ended_at__isnull=True),
                name="episodes_retentionpolicy_one_standing",
            ),
            models.CheckConstraint(
                condition=~Q(name=""), name="episodes_retentionpolicy_has_a_name"
            ),
            models.CheckConstraint(
                condition=Q(age_days__isnull=False)
                | Q(keep_newest__isnull=False)
                | Q(retired_days__isnull=False),
                name="episodes_retentionpolicy_ends_something",
            ),
            models.CheckConstraint(
                condition=(Q(age_days__isnull=True) | Q(age_days__gte=1, age_days__lte=36_500))
                & (Q(keep_newest__isnull=True) | Q(keep_newest__gte=1))
                & (Q(retired_days__isnull=True) | Q(retired_days__gte=1, retired_days__lte=36_500)),
                name="episodes_retentionpolicy_in_bounds",
            ),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True) | Q(ended_at__gte=F("made_at")),
                name="episodes_retentionpolicy_ends_after_it_begins",
            ),
            one_of("outcome", Outcome, "episodes_retentionpolicy_outcome", null=True),
            one_of("scope", Scope, "episodes_retentionpolicy_scope", null=True),
            one_of("review_state", ReviewState, "episodes_retentionpolicy_review_state", null=True),
        ]
        triggers = [ClosedOnce(columns=("ended_at", "ended_by"), kept_for_good=True)]

    def __str__(self) -> str:
        return self.name


class RetentionRun(models.Model):
    """One run of the sweep over an app: what it deleted, as far as it has come. No text of anybody.

    Updated in the transaction of each batch, so that its counts are what was deleted, also when the
    process was killed; a run without an end is gone on with.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    # The moment by which all of the run is decided, however long it takes.
    as_of = models.DateTimeField()
    retention_version = models.PositiveIntegerField()
    started_at = models.DateTimeField(default=clock.now, db_default=Now())
    finished_at = models.DateTimeField(null=True)
    # Seconds spent, without the pauses between batches.
    worked = models.FloatField(default=0.0)
    batches = models.PositiveIntegerField(default=0)
    # Episodes by policy: [{"policy": name or "", "why": "age" | "toolset" | "count", "n": 3}, …].
    policies = models.JSONField(default=list, db_default=Value([], models.JSONField()))
    # Rows deleted by table.
    stores = models.JSONField(default=dict, db_default=Value({}, models.JSONField()))
    # Ids of the first episodes that went.
    sample = models.JSONField(default=list, db_default=Value([], models.JSONField()))
    # What was due and stayed: under a hold, or in use by somebody else just then.
    n_held = models.PositiveIntegerField(default=0)
    n_busy = models.PositiveIntegerField(default=0)
    # What became of the space: "vacuumed", "left to autovacuum"; '' where nothing was deleted.
    space = models.CharField(max_length=32, default="", blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["app"],
                condition=Q(finished_at__isnull=True),
                name="episodes_retentionrun_one_unfinished",
            ),
            models.CheckConstraint(
                condition=Q(finished_at__isnull=True) | Q(finished_at__gte=F("started_at")),
                name="episodes_retentionrun_ends_after_it_begins",
            ),
        ]
        indexes = [
            # The runs of an app, newest first.
            models.Index(
                F("app"), F("started_at").desc(), F("id").desc(), name="retentionrun_newest_of_app"
            ),
        ]
        triggers = [
            ChangesOnly(
                columns=(
                    *("finished_at", "worked", "batches", "policies", "stores", "sample"),
                    *("n_held", "n_busy", "space"),
                ),
                until="finished_at",
                may_go=True,  # one that deleted nothing is not kept
            )
        ]

    def __str__(self) -> str:
        return str(self.id)
