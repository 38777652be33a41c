from __future__ import annotations

from typing import TYPE_CHECKING

import pgtrigger
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, FilteredRelation, Q
from django.db.models.functions import MD5, Now

from episodes.enums import (
    HashKind,
    IndexState,
    Origin,
    Outcome,
    OutcomeSource,
    RecallState,
    ReviewState,
    Scope,
    State,
)
from episodes.models.app import App
from episodes.models.erasure import being_erased
from episodes.retention.expiry import Cutoffs
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import one_of

if TYPE_CHECKING:
    from episodes.models.access import Member

IDENTITY_IS_FIXED = """
    IF (NEW.id, NEW.app_id, NEW.scope, NEW.user_id, NEW.session_id, NEW.episode_key,
        NEW.wording_hash, NEW.origin)
       IS DISTINCT FROM
       (OLD.id, OLD.app_id, OLD.scope, OLD.user_id, OLD.session_id, OLD.episode_key,
        OLD.wording_hash, OLD.origin)
    THEN
        RAISE EXCEPTION 'the identity of an episode never changes'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF OLD.state = 'completed'
       AND (NEW.state, NEW.completed_at, NEW.completed_recorded_at) IS DISTINCT FROM
           (OLD.state, OLD.completed_at, OLD.completed_recorded_at) THEN
        RAISE EXCEPTION 'a completed episode is not reopened and keeps its completion time'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.revision <> OLD.revision AND NOT EXISTS (
           SELECT FROM episodes_episoderevision r
           WHERE r.app_id = NEW.app_id AND r.episode_id = NEW.id AND r.revision = NEW.revision)
       OR NEW.n_revisions <> OLD.n_revisions AND NOT EXISTS (
           SELECT FROM episodes_episoderevision r
           WHERE r.app_id = NEW.app_id AND r.episode_id = NEW.id AND r.revision = NEW.n_revisions)
    THEN
        RAISE EXCEPTION 'an episode has no such revision' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
"""

# At the commit, since a revision is written after its head. Sessions begin without one.
HAS_ITS_REVISIONS = """
    IF EXISTS (
        SELECT FROM episodes_episode h
        WHERE h.id = NEW.id AND h.app_id = NEW.app_id AND (
            SELECT count(*) FROM episodes_episoderevision r
            WHERE r.app_id = h.app_id AND r.episode_id = h.id
                AND r.revision IN (h.revision, h.n_revisions)
        ) < CASE WHEN h.revision IN (0, h.n_revisions) THEN 1 ELSE 2 END)
    THEN
        RAISE EXCEPTION 'an episode has no such revision' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
"""


class EpisodeQuerySet(models.QuerySet["Episode"]):
    def of_app(self, app: App) -> EpisodeQuerySet:
        return self.filter(app=app)

    def of_subject(self, user_id: str) -> EpisodeQuerySet:
        return self.filter(scope=Scope.USER, user_id=user_id)

    def completed(self) -> EpisodeQuerySet:
        return self.filter(state=State.COMPLETED)

    def unexpired(self, cutoffs: Cutoffs) -> EpisodeQuerySet:
        """Open ones, and those whose retention has not run out: expired rows are in no read."""
        return self.filter(cutoffs.q())

    def unerased(self) -> EpisodeQuerySet:
        """All but those of subjects who are being erased: hidden from every read at once."""
        return self.filter(~being_erased())

    def visible_to(self, member: Member) -> EpisodeQuerySet:
        """The app's episodes that have not expired and are not being erased."""
        return self.of_app(member.app).unexpired(member.app.cutoffs).unerased()

    def with_served(self) -> EpisodeQuerySet:
        """Join the revision that is served, as `served`."""
        served = FilteredRelation(
            "revisions", condition=Q(revisions__app=F("app"), revisions__revision=F("revision"))
        )
        return self.alias(served=served)


class Episode(models.Model):
    """The narrow, updated head of an episode: what search, lists and rules need of it.

    The evidence lies in append-only revisions; `revision` is the one served. Written only by
    episodes/lifecycle/, together with the interval and entry rows that justify each value.
    `primary key (id, app_id)` in the database (migration 0002): unique within an app.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="episodes", db_index=False)
    scope = models.CharField(max_length=8, choices=Scope.choices, default=Scope.USER)
    user_id = models.CharField(max_length=256, null=True)
    session_id = models.CharField(max_length=256, null=True)
    episode_key = models.CharField(max_length=256, default="", blank=True)
    # Whose words an org row carries: that subject's keyed hash (episodes/tombstones.py), by which an
    # erasure finds it and nobody is found from it. Null where nobody's wording was taken over.
    wording_hash = models.BinaryField(max_length=32, null=True)
    origin = models.CharField(max_length=16, choices=Origin.choices, default=Origin.SESSION)

    state = models.CharField(max_length=16, choices=State.choices, default=State.OPEN)
    recall_state = models.CharField(
        max_length=16, choices=RecallState.choices, default=RecallState.RECALLABLE
    )
    review_state = models.CharField(
        max_length=24, choices=ReviewState.choices, default=ReviewState.UNREVIEWED
    )
    index_state = models.CharField(
        max_length=16, choices=IndexState.choices, default=IndexState.PENDING
    )
    outcome = models.CharField(max_length=16, choices=Outcome.choices, default=Outcome.UNKNOWN)
    # Null: nobody has said anything about how it ended.
    outcome_source = models.CharField(max_length=16, choices=OutcomeSource.choices, null=True)

    # Something of the organisation that is published was made of it.
    promoted = models.BooleanField(default=False, db_default=False)

    # An unretracted statement of lower authority came later and says something else.
    contradicted = models.BooleanField(default=False)

    # 0: its run had recalled nothing; else one more than the deepest episode that it was given.
    generation_depth = models.PositiveIntegerField(default=0, db_default=0)

    # 0 while an open episode has no evidence yet.
    revision = models.PositiveIntegerField(default=0)
    n_revisions = models.PositiveIntegerField(default=0)
    n_entries = models.PositiveIntegerField(default=0)
    # The furthest state of the session that was ever offered, stored as a revision or not: what
    # a re-add must exceed to be newer, whatever the order of arrival.
    high_sequence = models.BigIntegerField(null=True)
    high_n_events = models.PositiveIntegerField(default=0)
    high_last_event_at = models.DateTimeField(null=True)

    # Copies from the served revision that search filters or ranks by.
    recorded_outcome = models.CharField(
        max_length=16, choices=Outcome.choices, default=Outcome.UNKNOWN
    )
    procedure_key = models.CharField(max_length=64, default="", blank=True)
    toolset_version = models.CharField(max_length=128, default="", blank=True)
    toolset_kind = models.CharField(
        max_length=16, choices=HashKind.choices, default=HashKind.OPAQUE
    )
    agent_id = models.CharField(max_length=256, default="", blank=True)
    task_id = models.CharField(max_length=256, default="", blank=True)
    issue_type = models.CharField(max_length=128, default="", blank=True)
    tags = ArrayField(models.CharField(max_length=64), default=list)
    started_at = models.DateTimeField(null=True)

    # From the first completion; never renewed by a re-add. Decay and expiry count from here.
    completed_at = models.DateTimeField(null=True)
    # When the store learned of it; `completed_at` is the caller's time and may lie before. Null of an
    # episode that was completed before this was kept and of which the audit does not tell any more.
    completed_recorded_at = models.DateTimeField(null=True)
    # The caller's completion time lay in the future and was brought back to the server's.
    completed_at_clamped = models.BooleanField(default=False)
    received_at = models.DateTimeField(default=clock.now, db_default=Now())
    last_activity_at = models.DateTimeField(default=clock.now, db_default=Now())

    objects = EpisodeQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(scope=Scope.USER, user_id__isnull=False, session_id__isnull=False)
                | Q(scope=Scope.ORG, user_id__isnull=True, session_id__isnull=True),
                name="episodes_episode_subject_fits_scope",
            ),
            models.CheckConstraint(
                condition=Q(wording_hash__isnull=True) | Q(scope=Scope.ORG),
                name="episodes_episode_wording_only_in_org",
            ),
            models.CheckConstraint(
                condition=Q(user_id__isnull=True) | ~Q(user_id=""),
                name="episodes_episode_user_not_empty",
            ),
            models.CheckConstraint(
                condition=Q(session_id__isnull=True) | ~Q(session_id=""),
                name="episodes_episode_session_not_empty",
            ),
            models.CheckConstraint(
                condition=Q(state=State.COMPLETED, completed_at__isnull=False)
                | Q(state=State.OPEN, completed_at__isnull=True),
                name="episodes_episode_completed_has_a_time",
            ),
            models.CheckConstraint(
                condition=Q(completed_recorded_at__isnull=True) | Q(state=State.COMPLETED),
                name="episodes_episode_only_completed_is_recorded",
            ),
            models.CheckConstraint(
                condition=Q(n_revisions__gte=F("revision"))
                & (Q(state=State.OPEN) | Q(revision__gte=1)),
                name="episodes_episode_completed_has_evidence",
            ),
            # md5 of the key: three ids of 256 four-byte characters exceed a btree page's third.
            # A collision needs two keys chosen for it inside one's own session and is refused.
            models.UniqueConstraint(
                F("app"),
                F("user_id"),
                F("session_id"),
                MD5("episode_key"),
                condition=Q(scope=Scope.USER),
                name="episodes_episode_one_per_identity",
            ),
            one_of("scope", Scope, "episodes_episode_scope"),
            one_of("origin", Origin, "episodes_episode_origin"),
            one_of("state", State, "episodes_episode_state"),
            one_of("recall_state", RecallState, "episodes_episode_recall_state"),
            one_of("review_state", ReviewState, "episodes_episode_review_state"),
            one_of("index_state", IndexState, "episodes_episode_index_state"),
            one_of("outcome", Outcome, "episodes_episode_outcome"),
            one_of("recorded_outcome", Outcome, "episodes_episode_recorded_outcome"),
            one_of("toolset_kind", HashKind, "episodes_episode_toolset_kind"),
            models.CheckConstraint(
                condition=Q(outcome_source__isnull=True)
                | Q(outcome_source__in=OutcomeSource.values),
                name="episodes_episode_outcome_source",
            ),
        ]
        indexes = [
            # Search, scope user: a subject's newest eligible episodes (episodes/search/), and
            # every listing by subject.
            models.Index(
                F("app"),
                F("user_id"),
                F("completed_at").desc(),
                name="episode_recallable_by_user",
                condition=Q(
                    scope=Scope.USER, state=State.COMPLETED, recall_state=RecallState.RECALLABLE
                ),
            ),
            # Erasure: the org rows that carry a subject's wording.
            models.Index(
                fields=["app", "wording_hash"],
                name="episode_of_wording",
                condition=Q(wording_hash__isnull=False),
            ),
            # Search, scope org: what an app shares, counted and newest first.
            models.Index(
                F("app"),
                F("completed_at").desc(),
                name="episode_recallable_org",
                condition=Q(
                    scope=Scope.ORG, state=State.COMPLETED, recall_state=RecallState.RECALLABLE
                ),
            ),
            # Lists of an app, newest first.
            models.Index(
                F("app"), F("received_at").desc(), F("id").desc(), name="episode_newest_of_app"
            ),
            # The retention sweep, oldest first; lists by the time of completion.
            models.Index(F("app"), F("completed_at"), name="episode_expiry"),
            # Console filter on a task, newest first: 1.7 ms instead of 50 among 33,000.
            models.Index(
                F("app"),
                F("task_id"),
                F("received_at").desc(),
                name="episode_of_task",
                condition=~Q(task_id=""),
            ),
            # beat: close_idle finds open episodes by their last activity.
            models.Index(
                F("last_activity_at"),
                name="episode_open_by_activity",
                condition=Q(state=State.OPEN),
            ),
            # Console filter and incidents start from a session id alone.
            models.Index(
                fields=["app", "session_id"],
                name="episode_of_session",
                condition=Q(scope=Scope.USER),
            ),
            # Console and API filters on tags.
            GinIndex(fields=["tags"], name="episode_tags", condition=~Q(tags=[])),
        ]
        triggers = [
            pgtrigger.Trigger(
                name="identity_is_fixed",
                operation=pgtrigger.Update,
                when=pgtrigger.Before,
                func=IDENTITY_IS_FIXED,
            ),
            pgtrigger.Trigger(
                name="has_its_revisions",
                operation=pgtrigger.Insert,
                when=pgtrigger.After,
                timing=pgtrigger.Deferred,
                condition=pgtrigger.Q(new__n_revisions__gt=0),
                func=HAS_ITS_REVISIONS,
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)
