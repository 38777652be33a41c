from __future__ import annotations

import pgtrigger
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from episodes.enums import HashKind, LessonSource, Outcome
from episodes.models.app import App
from episodes.models.episode import Episode
from memoryadmin.lib import clock
from memoryadmin.lib.constraints import append_only, belongs_to_its_head, one_of


class EpisodeRevision(models.Model):
    """The evidence of an episode as it was written once: appended, never updated.

    `steps` is one document, a list of {"seq", "kind", "tool", "call_id"?, "arguments"?,
    "error"?, "summary"?, "important"?, "at"?}. All free text has passed the masker.
    """

    pk = models.CompositePrimaryKey("app_id", "episode_id", "revision")
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    # The foreign key is (episode_id, app_id), made by migration 0002.
    episode = models.ForeignKey(
        Episode,
        on_delete=models.CASCADE,
        related_name="revisions",
        db_constraint=False,
        db_index=False,
    )
    revision = models.PositiveIntegerField()
    user_id = models.CharField(max_length=256, null=True)

    goal = models.TextField()
    steps = models.JSONField()
    resolution = models.TextField(default="", blank=True)
    lesson = models.TextField(default="", blank=True)
    lesson_source = models.CharField(
        max_length=16, choices=LessonSource.choices, default=LessonSource.TEMPLATE
    )
    # What describes the session, as this state of it told, or else the one before (ingest/store.py).
    # Beside the evidence and not in its hash, but served and searched with it.
    agent_id = models.CharField(max_length=256, default="", db_default="", blank=True)
    task_id = models.CharField(max_length=256, default="", db_default="", blank=True)
    issue_type = models.CharField(max_length=128, default="", blank=True)
    tags = ArrayField(models.CharField(max_length=64), default=list, db_default=[])
    recorded_outcome = models.CharField(
        max_length=16, choices=Outcome.choices, default=Outcome.UNKNOWN
    )
    outcome_reason = models.CharField(max_length=64, default="", blank=True)
    # The caller's measure of how well it went, on a scale of its own. One that came with an outcome
    # stands with that statement, too.
    score = models.FloatField(null=True)
    toolset_version = models.CharField(max_length=128, default="", blank=True)
    toolset_kind = models.CharField(
        max_length=16, choices=HashKind.choices, default=HashKind.OPAQUE
    )

    tools = ArrayField(models.CharField(max_length=128), default=list)
    errors = ArrayField(models.CharField(max_length=128), default=list)
    procedure_key = models.CharField(max_length=64)
    content_hash = models.CharField(max_length=64)
    identifiers = ArrayField(models.CharField(max_length=128), default=list)
    search = SearchVectorField()

    # How it compares with a re-add: `sequence` first, then the number of events, then the last one.
    sequence = models.BigIntegerField(null=True)
    n_events = models.PositiveIntegerField(default=0)
    last_event_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    is_final = models.BooleanField(default=True)

    # What did not come in: names only, never values. ["tool.argument", …] and {"nul": n, …}.
    dropped_arguments = models.JSONField(default=list)
    stripped = models.JSONField(default=dict)
    format = models.CharField(max_length=32)

    # Provenance, assigned by the server.
    written_at = models.DateTimeField(default=clock.now, db_default=Now())
    written_by = models.CharField(max_length=200, default="")
    key_prefix = models.CharField(max_length=16, default="", blank=True)
    route = models.CharField(max_length=64, default="", blank=True)
    address_hash = models.CharField(max_length=64, default="", blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(revision__gte=1), name="episodes_episoderevision_counts_from_one"
            ),
            models.CheckConstraint(
                condition=Q(score__isnull=True)
                | Q(score__gt=float("-inf"), score__lt=float("inf")),  # NaN is above infinity
                name="episodes_episoderevision_score_is_finite",
            ),
            one_of("recorded_outcome", Outcome, "episodes_episoderevision_recorded_outcome"),
            one_of("lesson_source", LessonSource, "episodes_episoderevision_lesson_source"),
            one_of("toolset_kind", HashKind, "episodes_episoderevision_toolset_kind"),
        ]
        indexes = [
            # Promotion: how many subjects of an app have a value or a strange word. Search in a
            # subject's scope compares the array row by row and does not need it.
            GinIndex(fields=["identifiers"], name="revision_identifiers"),
            # Console filters on a tool and on an error code: 1 to 20 ms instead of 400 among 33,000.
            GinIndex(fields=["tools", "errors"], name="revision_tools"),
            # Full-text search of the console over an app.
            GinIndex(fields=["search"], name="revision_search"),
            # Search, scope org: what is shared, by a name or by all words of a query. Of its own,
            # because subjects' episodes are a hundred times as many.
            GinIndex(
                fields=["identifiers"],
                name="revision_org_identifiers",
                condition=Q(user_id__isnull=True),
            ),
            GinIndex(
                fields=["search"], name="revision_org_search", condition=Q(user_id__isnull=True)
            ),
            # Queue and promotion: who did the same procedure.
            models.Index(fields=["app", "procedure_key"], name="revision_procedure"),
            # Erasure: a subject's rows, and those that are nobody's.
            models.Index(fields=["app", "user_id"], name="revision_of_user"),
            # Console filter and a key's page: the episodes that one key wrote.
            models.Index(
                fields=["app", "key_prefix", "episode"],
                name="revision_of_key",
                condition=~Q(key_prefix=""),
            ),
        ]
        triggers: list[pgtrigger.Trigger] = [append_only(), belongs_to_its_head()]

    def __str__(self) -> str:
        return f"{self.episode_id}@{self.revision}"
