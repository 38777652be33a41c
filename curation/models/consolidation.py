from __future__ import annotations

import pgtrigger
from django.db import models
from django.db.models import F, Q, TextChoices
from django.db.models.functions import Now

from episodes.models import App
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import (
    ERASURE_MAY_DELETE,
    IS_ERASURE,
    Keeper,
    append_only,
    erasure_may_remove,
    one_of,
)


class ConsolidationStatus(TextChoices):
    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    DISMISSED = "dismissed"
    OUTGROWN = "outgrown"  # the group has grown: another proposal stands in its place


COUNTS = ("n_sources", "n_subjects")
DECISION = ("status", "decided_by", "decided_role", "decided_at", "reason", "precedent_id")


def _only(*columns: str) -> str:
    """Say in SQL that nothing else changes."""
    listed = ", ".join(f"'{column}'" for column in columns)
    return f"to_jsonb(NEW) - ARRAY[{listed}] = to_jsonb(OLD) - ARRAY[{listed}]"


class DecidedOnce(Keeper):
    """Lets a proposed lesson be decided; afterwards an erasure alone recounts it, or deletes it."""

    rights = "SELECT, INSERT, UPDATE"
    said = ("reason",)


class Consolidation(models.Model):
    """One lesson that a group of similar sessions has in common, for a curator to accept or not.

    `lesson` is made of tool names, names of arguments, codes and counts only.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    status = models.CharField(
        max_length=16, choices=ConsolidationStatus.choices, default=ConsolidationStatus.PROPOSED
    )
    procedure_key = models.CharField(max_length=64)
    lesson = models.TextField()
    n_sources = models.PositiveIntegerField()
    n_subjects = models.PositiveIntegerField()
    threshold = models.PositiveSmallIntegerField()
    proposed_at = models.DateTimeField(default=clock.now, db_default=Now())
    decided_by = models.CharField(max_length=200, default="", blank=True)
    decided_role = models.CharField(max_length=16, default="", blank=True)
    decided_at = models.DateTimeField(null=True)
    reason = models.TextField(default="", blank=True)
    precedent_id = models.UUIDField(null=True)

    class Meta:
        constraints = [
            one_of("status", ConsolidationStatus, "curation_consolidation_status"),
            models.CheckConstraint(
                condition=Q(n_subjects__gte=F("threshold"), threshold__gte=1)
                | ~Q(status=ConsolidationStatus.PROPOSED),
                name="curation_consolidation_of_enough_subjects",
            ),
            models.CheckConstraint(
                condition=Q(status=ConsolidationStatus.PROPOSED, decided_at__isnull=True)
                | (~Q(status=ConsolidationStatus.PROPOSED) & Q(decided_at__isnull=False)),
                name="curation_consolidation_decided_has_a_time",
            ),
            models.CheckConstraint(
                condition=~Q(status=ConsolidationStatus.DISMISSED) | ~Q(reason=""),
                name="curation_consolidation_dismissed_with_a_reason",
            ),
            models.CheckConstraint(
                condition=Q(status=ConsolidationStatus.ACCEPTED, precedent_id__isnull=False)
                | (~Q(status=ConsolidationStatus.ACCEPTED) & Q(precedent_id__isnull=True)),
                name="curation_consolidation_accepted_became_a_proposal",
            ),
        ]
        indexes = [
            # Promotion: lessons that wait and that were decided, newest first.
            models.Index(
                F("app"),
                F("status"),
                F("proposed_at").desc(),
                F("id").desc(),
                name="consolidation_by_status",
            ),
            # The nightly task: what was proposed of a procedure before.
            models.Index(fields=["app", "procedure_key"], name="consolidation_of_procedure"),
        ]
        triggers = [
            DecidedOnce(
                name="decided_once",
                operation=pgtrigger.Update | pgtrigger.Delete,
                when=pgtrigger.Before,
                func=f"""
                    {ERASURE_MAY_DELETE}{erasure_may_remove(DecidedOnce.said)}
                    IF TG_OP = 'UPDATE' AND (
                        OLD.status = 'proposed' AND {_only(*COUNTS, *DECISION)}
                        OR {IS_ERASURE} AND {_only(*COUNTS)})
                    THEN
                        RETURN NEW;
                    END IF;
                    RAISE EXCEPTION '% of % is refused: a lesson is decided once',
                        TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
                """,
            )
        ]

    def __str__(self) -> str:
        return f"{self.status} lesson of {self.n_sources} sessions"


class ConsolidationSource(models.Model):
    """A session that a consolidated lesson rests on. `is_lead`: the one most like all the others."""

    pk = models.CompositePrimaryKey("app_id", "consolidation_id", "episode_id")
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    # The foreign key is (consolidation_id, app_id), made by migration 0005.
    consolidation = models.ForeignKey(
        Consolidation,
        on_delete=models.CASCADE,
        related_name="sources",
        db_constraint=False,
        db_index=False,
    )
    episode_id = models.UUIDField()
    revision = models.PositiveIntegerField()
    user_id = models.CharField(max_length=256)
    is_lead = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["app", "consolidation"],
                condition=Q(is_lead=True),
                name="curation_consolidationsource_one_lead",
            ),
        ]
        indexes = [
            # Erasure: the references to a subject's sessions.
            models.Index(fields=["app", "user_id"], name="consolidationsource_of_user"),
        ]
        triggers = [append_only()]

    def __str__(self) -> str:
        return f"{self.episode_id}@{self.revision}"
