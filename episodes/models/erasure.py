from __future__ import annotations

import pgtrigger
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Now

from episodes.enums import UNFINISHED, ErasureStatus
from episodes.models.app import App
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import append_only, erasure_may_remove, one_of

# What was verified and signed stays as it was signed; only the second date comes later, once.
SIGNED_IS_FINAL = f"""
    {erasure_may_remove(["reason"])}
    IF TG_OP = 'UPDATE' AND (OLD.certificate IS NULL
       OR OLD.clearance IS NULL
       AND to_jsonb(NEW) - ARRAY['clearance', 'physically_cleared_at']
           = to_jsonb(OLD) - ARRAY['clearance', 'physically_cleared_at']) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION '% of % is refused: what an erasure has signed stays', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
"""


class Erasure(models.Model):
    """The deletion of one subject in one app, from its request to its signed certificate.

    The subject is known by a keyed hash (episodes/tombstones.py); `user_id` stands here only as
    long as there is something to look for. Whoever has it here is in no read. Requests for all
    apps at once share a `group_id`. `counts`: rows deleted, by store. `found`: rows that the last
    verification still found, by table; never text.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    group_id = models.UUIDField(null=True)
    subject_hash = models.BinaryField(max_length=32)
    key_id = models.CharField(max_length=16)
    user_id = models.CharField(max_length=256, null=True)
    status = models.CharField(
        max_length=16, choices=ErasureStatus.choices, default=ErasureStatus.SCHEDULED
    )
    reason = models.TextField(default="", blank=True)
    requested_by = models.CharField(max_length=200)
    requested_role = models.CharField(max_length=16, default="", blank=True)
    requested_at = models.DateTimeField(default=clock.now, db_default=Now())
    started_at = models.DateTimeField(null=True)
    verified_at = models.DateTimeField(null=True)
    physically_cleared_at = models.DateTimeField(null=True)

    counts = models.JSONField(default=dict)
    found = models.JSONField(default=dict)
    # The store or the table that is next; '' is the first one.
    position = models.CharField(max_length=128, default="", blank=True)
    # Verifications that found something, and failures in a row of the program or the database.
    rounds = models.PositiveSmallIntegerField(default=0)
    attempts = models.PositiveSmallIntegerField(default=0)
    last_error = models.CharField(max_length=64, default="", blank=True)
    next_attempt_at = models.DateTimeField(null=True, default=clock.now)
    leased_until = models.DateTimeField(null=True)
    lease = models.UUIDField(null=True)
    # The ledger has its line; until then the run writes it before it deletes anything.
    is_in_ledger = models.BooleanField(default=False)

    # memoryadmin.lib.signing's JSON, as it was signed; `clearance` says that the scrub was done.
    certificate = models.JSONField(null=True)
    clearance = models.JSONField(null=True)

    class Meta:
        constraints = [
            one_of("status", ErasureStatus, "episodes_erasure_status"),
            # Two people ask at once: one of them does, and the other gets the same.
            models.UniqueConstraint(
                F("app"),
                F("subject_hash"),
                condition=Q(status__in=UNFINISHED),
                name="episodes_erasure_one_at_a_time",
            ),
            models.CheckConstraint(
                condition=~Q(status__in=UNFINISHED) | Q(user_id__isnull=False),
                name="episodes_erasure_unfinished_knows_its_subject",
            ),
            models.CheckConstraint(
                condition=Q(
                    status=ErasureStatus.VERIFIED,
                    user_id__isnull=True,
                    verified_at__isnull=False,
                    certificate__isnull=False,
                )
                | (
                    ~Q(status=ErasureStatus.VERIFIED)
                    & Q(verified_at__isnull=True, certificate__isnull=True)
                ),
                name="episodes_erasure_verified_is_signed_and_nameless",
            ),
            models.CheckConstraint(
                condition=Q(physically_cleared_at__isnull=True, clearance__isnull=True)
                | Q(
                    status=ErasureStatus.VERIFIED,
                    physically_cleared_at__isnull=False,
                    clearance__isnull=False,
                ),
                name="episodes_erasure_cleared_is_signed",
            ),
        ]
        indexes = [
            # Every read of subjects' rows leaves out who is being erased.
            models.Index(
                fields=["app", "user_id"],
                name="erasure_of_user",
                condition=Q(user_id__isnull=False),
            ),
            # run_erasures: what is due, oldest first.
            models.Index(
                fields=["next_attempt_at"],
                name="erasure_due",
                condition=Q(next_attempt_at__isnull=False),
            ),
            # The list of an app, newest first.
            models.Index(
                F("app"), F("requested_at").desc(), F("id").desc(), name="erasure_newest_of_app"
            ),
            # scrub: what was verified and still lies in dead tuples and log.
            models.Index(
                fields=["verified_at"],
                name="erasure_uncleared",
                condition=Q(verified_at__isnull=False, physically_cleared_at__isnull=True),
            ),
        ]
        triggers = [
            pgtrigger.Trigger(
                name="signed_is_final",
                operation=pgtrigger.Update | pgtrigger.Delete,
                when=pgtrigger.Before,
                func=SIGNED_IS_FINAL,
            )
        ]

    def __str__(self) -> str:
        return f"{self.status} erasure {self.id}"

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def being_erased() -> Exists:
    """Whether a row's subject is being erased: in `filter(~being_erased())`, over rows with
    `app_id` and `user_id`. What is left of whom an erasure failed to remove stays hidden, too."""
    return Exists(
        Erasure.objects.filter(app_id=OuterRef("app_id"), user_id=OuterRef("user_id")).order_by()
    )


class AuditErasure(models.Model):
    """One batch of audit texts that an erasure removed, signed in the transaction that did.

    `statement` names the erasure and sha256 over the sorted ids of the entries, which the rows of
    AuditErasedText must give again.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    erasure_id = models.UUIDField()
    n = models.PositiveIntegerField()
    statement = models.JSONField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(n__gte=1), name="episodes_auditerasure_removed_something"
            ),
        ]
        indexes = [
            # The certificate names all batches of its erasure.
            models.Index(fields=["erasure_id"], name="auditerasure_of_erasure"),
        ]
        triggers: list[pgtrigger.Trigger] = [append_only()]

    def __str__(self) -> str:
        return f"{self.n} texts by {self.erasure_id}"


class AuditErasedText(models.Model):
    """The text of this audit entry was removed by an erasure."""

    entry_id = models.UUIDField(primary_key=True)
    # No foreign key, so that the entries and what became of them stay readable on their own.
    batch_id = models.UUIDField()

    class Meta:
        indexes = [
            # verify_audit: the entries of a batch, in the order in which they were signed.
            models.Index(fields=["batch_id", "entry_id"], name="auditerasedtext_of_batch"),
        ]
        triggers: list[pgtrigger.Trigger] = [append_only()]

    def __str__(self) -> str:
        return str(self.entry_id)
