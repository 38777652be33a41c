from __future__ import annotations

import pgtrigger
from django.db import models
from django.db.models import Q

from curation.models.precedent import Precedent
from episodes.models import App
from memoryadmin.lib import ids
from memoryadmin.lib.constraints import ERASURE_MAY_DELETE, Keeper


class CountedUntilDecided(Keeper):
    """Lets contributors be written anew until their precedent is decided; then an erasure's go."""

    rights = "SELECT, INSERT, DELETE"


class Contribution(models.Model):
    """A subject stands behind a precedent: by having done the same, or by its wording.

    The subject is a keyed hash (episodes/tombstones.py), so that an erasure that knows the id
    finds what it contributed to, and nobody else learns who did. `subject_app` is the app that
    the subject belongs to; a precedent offered to another app keeps its contributors.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    # The foreign key is (precedent_id, app_id), made by migration 0004.
    precedent = models.ForeignKey(
        Precedent,
        on_delete=models.CASCADE,
        related_name="contributions",
        db_constraint=False,
        db_index=False,
    )
    subject_app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    subject_hash = models.BinaryField(max_length=32)
    # Which MEMORYADMIN_HASH_KEY made the hash: under another one nobody would be recognised.
    key_id = models.CharField(max_length=16)
    carries_wording = models.BooleanField(default=False)

    class Meta:
        constraints = [
            # Also: the contributors of a precedent.
            models.UniqueConstraint(
                fields=["app", "precedent", "subject_app", "subject_hash"],
                name="curation_contribution_one_per_subject",
            ),
            models.UniqueConstraint(
                fields=["app", "precedent"],
                condition=Q(carries_wording=True),
                name="curation_contribution_one_wording",
            ),
        ]
        indexes = [
            # Erasure: what a subject contributed to, in every app.
            models.Index(fields=["subject_app", "subject_hash"], name="contribution_of_subject"),
        ]
        triggers = [
            CountedUntilDecided(
                name="counted_until_decided",
                operation=pgtrigger.Update | pgtrigger.Delete,
                when=pgtrigger.Before,
                func=f"""
                    {ERASURE_MAY_DELETE}
                    IF TG_OP = 'DELETE' AND EXISTS (
                        SELECT FROM curation_precedent of
                        WHERE of.id = OLD.precedent_id AND of.app_id = OLD.app_id
                            AND of.status IN ('proposed', 'offered'))
                    THEN
                        RETURN OLD;
                    END IF;
                    RAISE EXCEPTION '% of % is refused: who stood behind a decision stays',
                        TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
                """,
            )
        ]

    def __str__(self) -> str:
        return f"{'wording' if self.carries_wording else 'support'} of {self.precedent_id}"
