from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q, TextChoices
from django.db.models.functions import Now

from curation.models.precedent_decision import decided_once
from episodes.effective import REVIEW_SOURCES
from episodes.enums import HashKind, LessonSource, Outcome, OutcomeSource
from episodes.models import App
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import one_of


class PrecedentStatus(TextChoices):
    PROPOSED = "proposed"
    OFFERED = "offered"  # by another app's curator: a proposal that is approved here
    APPROVED = "approved"
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"
    SUPERSEDED = "superseded"


OPEN = (PrecedentStatus.PROPOSED, PrecedentStatus.OFFERED)
ENDED = (PrecedentStatus.REFUSED, PrecedentStatus.WITHDRAWN, PrecedentStatus.SUPERSEDED)


class Precedent(models.Model):
    """A promotion: what of an episode is to be shared, who proposed and who approved it.

    The texts are the draft after redaction and edits by hand, and once approved what the org
    episode was made of. `steps` are like a revision's, without times. `redactions` is a list of
    {"field", "start", "end", "kind", "rule"}: offsets into the source's text, never the values.
    An erasure of the source's subject empties texts and source (curation/promotion/forgetting.py).
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    status = models.CharField(max_length=16, choices=PrecedentStatus.choices)
    # Counts the changes: a decision names the one that was read.
    version = models.PositiveIntegerField(default=1)

    # Where it comes from. Null: offered by another app, or the subject was erased. No foreign key:
    # the episode may expire before its precedent does.
    user_id = models.CharField(max_length=256, null=True)
    source_episode_id = models.UUIDField(null=True)
    source_revision = models.PositiveIntegerField(null=True)
    offered_from = models.UUIDField(null=True)
    offered_from_app = models.ForeignKey(
        App, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    supersedes = models.UUIDField(null=True)
    # The consolidation that its lesson was taken from.
    consolidation_id = models.UUIDField(null=True)

    # As they were at the proposal; approval compares.
    outcome = models.CharField(max_length=16, choices=Outcome.choices)
    outcome_source = models.CharField(max_length=16, choices=OutcomeSource.choices)
    recorded_outcome = models.CharField(max_length=16, choices=Outcome.choices)
    is_warning = models.BooleanField(default=False)
    procedure_key = models.CharField(max_length=64)
    # The Monday of the ISO week in which the source ended: a week tells no session.
    completed_on = models.DateField()

    goal = models.TextField()
    steps = models.JSONField()
    resolution = models.TextField(default="", blank=True)
    lesson = models.TextField(default="", blank=True)
    lesson_source = models.CharField(max_length=16, choices=LessonSource.choices)
    issue_type = models.CharField(max_length=128, default="", blank=True)
    agent_id = models.CharField(max_length=256, default="", blank=True)
    toolset_version = models.CharField(max_length=128, default="", blank=True)
    toolset_kind = models.CharField(max_length=16, choices=HashKind.choices)
    redactions = models.JSONField(default=list)
    # Fields, e.g. "steps.3.arguments.amount": left out because they identify, edited by hand.
    dropped = models.JSONField(default=list)
    edited = models.JSONField(default=list)
    # Findings of the leak scan that somebody let stand: {"field", "start", "end", "kind", "rule"},
    # offsets into the draft, and why.
    accepted = models.JSONField(default=list)
    accepted_because = models.TextField(default="", blank=True)

    # Distinct subjects who did the same for a similar goal, and the app's k, when last counted.
    n_subjects = models.PositiveIntegerField()
    threshold = models.PositiveSmallIntegerField()
    override_reason = models.TextField(default="", blank=True)

    # People as text, in the role they had: it outlives their accounts.
    proposer = models.CharField(max_length=200)
    proposer_role = models.CharField(max_length=16, default="", blank=True)
    proposed_at = models.DateTimeField(default=clock.now, db_default=Now())
    editors = ArrayField(models.CharField(max_length=200), default=list)
    approver = models.CharField(max_length=200, null=True)
    approver_role = models.CharField(max_length=16, default="", blank=True)
    approved_at = models.DateTimeField(null=True)
    ended_by = models.CharField(max_length=200, default="", blank=True)
    ended_at = models.DateTimeField(null=True)
    end_reason = models.TextField(default="", blank=True)

    org_episode_id = models.UUIDField(null=True)
    # Withdrawn by an erasure: what it said is to be derived from somebody else's session.
    is_to_rederive = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(approver__isnull=True)
                | (~Q(approver=F("proposer")) & ~Q(editors__contains=[F("approver")])),
                name="curation_precedent_approved_by_a_second_person",
            ),
            models.CheckConstraint(
                condition=(
                    Q(status__in=[PrecedentStatus.APPROVED, PrecedentStatus.SUPERSEDED])
                    & Q(approver__isnull=False, approved_at__isnull=False)
                    & Q(org_episode_id__isnull=False)
                )
                | (
                    Q(status__in=[*OPEN, PrecedentStatus.REFUSED])
                    & Q(approver__isnull=True, approved_at__isnull=True)
                    & Q(org_episode_id__isnull=True)
                )
                | Q(status=PrecedentStatus.WITHDRAWN),
                name="curation_precedent_published_is_approved",
            ),
            models.CheckConstraint(
                condition=Q(status__in=ENDED, ended_at__isnull=False)
                | (~Q(status__in=ENDED) & Q(ended_at__isnull=True)),
                name="curation_precedent_ended_has_a_time",
            ),
            models.CheckConstraint(
                condition=~Q(status=PrecedentStatus.APPROVED)
                | Q(n_subjects__gte=F("threshold"))
                | ~Q(override_reason=""),
                name="curation_precedent_enough_subjects_or_a_reason",
            ),
            models.CheckConstraint(
                condition=Q(
                    user_id__isnull=True,
                    source_episode_id__isnull=True,
                    source_revision__isnull=True,
                )
                | Q(
                    user_id__isnull=False,
                    source_episode_id__isnull=False,
                    source_revision__isnull=False,
                ),
                name="curation_precedent_source_is_whole",
            ),
            models.CheckConstraint(
                condition=Q(offered_from__isnull=True, offered_from_app__isnull=True)
                | (
                    Q(offered_from__isnull=False, offered_from_app__isnull=False)
                    & ~Q(offered_from_app=F("app"))
                    & Q(user_id__isnull=True)
                ),
                name="curation_precedent_offered_by_another_app",
            ),
            models.CheckConstraint(
                condition=~Q(status=PrecedentStatus.PROPOSED) | Q(source_episode_id__isnull=False),
                name="curation_precedent_proposed_has_a_source",
            ),
            models.CheckConstraint(
                condition=~Q(status=PrecedentStatus.OFFERED) | Q(offered_from__isnull=False),
                name="curation_precedent_offered_has_an_origin",
            ),
            models.CheckConstraint(
                condition=Q(is_warning=False, outcome=Outcome.SUCCESS)
                | Q(is_warning=True, outcome=Outcome.FAILURE),
                name="curation_precedent_success_or_warning",
            ),
            models.CheckConstraint(
                condition=Q(completed_on__iso_week_day=1),
                name="curation_precedent_completed_on_a_monday",
            ),
            models.CheckConstraint(
                condition=Q(threshold__gte=1), name="curation_precedent_threshold"
            ),
            models.CheckConstraint(
                condition=Q(outcome_source__in=REVIEW_SOURCES),
                name="curation_precedent_was_reviewed",
            ),
            # Two people propose the same session at once: one of them does.
            models.UniqueConstraint(
                fields=["app", "source_episode_id"],
                condition=Q(status=PrecedentStatus.PROPOSED),
                name="curation_precedent_one_proposal_per_source",
            ),
            models.UniqueConstraint(
                fields=["app", "source_episode_id"],
                condition=Q(status=PrecedentStatus.APPROVED, source_episode_id__isnull=False),
                name="curation_precedent_one_published_per_source",
            ),
            models.UniqueConstraint(
                fields=["app", "offered_from"],
                condition=Q(status__in=[PrecedentStatus.OFFERED, PrecedentStatus.APPROVED]),
                name="curation_precedent_offered_once",
            ),
            one_of("status", PrecedentStatus, "curation_precedent_status"),
            one_of("recorded_outcome", Outcome, "curation_precedent_recorded_outcome"),
            one_of("lesson_source", LessonSource, "curation_precedent_lesson_source"),
            one_of("toolset_kind", HashKind, "curation_precedent_toolset_kind"),
        ]
        indexes = [
            # Promotion: what waits, what is published, what has been (newest first).
            models.Index(
                F("app"),
                F("status"),
                F("proposed_at").desc(),
                F("id").desc(),
                name="precedent_by_status",
            ),
            # The page of an org episode, and of the episode that it comes from.
            models.Index(
                fields=["app", "org_episode_id"],
                name="precedent_of_org_episode",
                condition=Q(org_episode_id__isnull=False),
            ),
            models.Index(
                fields=["app", "source_episode_id"],
                name="precedent_of_source",
                condition=Q(source_episode_id__isnull=False),
            ),
            # Erasure: what was proposed of a subject.
            models.Index(
                fields=["app", "user_id"],
                name="precedent_of_user",
                condition=Q(user_id__isnull=False),
            ),
            # Withdrawal and erasure follow what was offered further.
            models.Index(
                fields=["offered_from_app", "offered_from"],
                name="precedent_offered_further",
                condition=Q(offered_from__isnull=False),
            ),
        ]
        triggers = [decided_once()]

    def __str__(self) -> str:
        return f"{self.status} precedent {self.id}"

    @property
    def is_open(self) -> bool:
        return self.status in OPEN

    @property
    def authors(self) -> frozenset[str]:
        """Those whose words or choice it is: none of them approves it."""
        return frozenset((self.proposer, *self.editors))
