from __future__ import annotations

from typing import Any

import orjson
import pgtrigger
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from episodes.enums import ActorKind
from episodes.models.app import App
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import ChangesOnly, Keeper, append_only, one_of

# By how a verb ends it is known whether somebody looked, counted or took away, and changed nothing.
READS = ("read", "counted", "exported", "unmasked")
IS_A_READ = Q(*(("verb__endswith", f".{word}") for word in READS), _connector=Q.OR)


class AuditEntry(models.Model):
    """Who changed what, when and in which role. Holds no personal data of a subject.

    `payload_digest` is sha256(salt || canonical payload) of the side row, which an erasure may
    remove: the entry and every chain over it stay verifiable without the text.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    # Null: an act on the installation, not on an app.
    app = models.ForeignKey(
        App, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    at = models.DateTimeField(default=clock.now, db_default=Now())
    actor = models.CharField(max_length=200)
    actor_kind = models.CharField(max_length=16, choices=ActorKind.choices)
    role = models.CharField(max_length=16, default="", blank=True)
    key_prefix = models.CharField(max_length=16, default="", blank=True)
    verb = models.CharField(max_length=64)
    target_kind = models.CharField(max_length=32)
    target_id = models.CharField(max_length=64)
    # Our own id of the request; what the caller sent as one stands in the payload.
    request_id = models.CharField(max_length=64, default="", blank=True)
    payload_digest = models.BinaryField(max_length=32)
    # Its place in the chain (episodes/audit/chain.py). Null only where a row is older than that.
    lane = models.SmallIntegerField(null=True)
    number = models.BigIntegerField(null=True)
    chain = models.BinaryField(max_length=32, null=True)

    class Meta:
        constraints = [
            one_of("actor_kind", ActorKind, "episodes_auditentry_actor_kind"),
            # Not validated: it holds for every row written since, not for those before the chain.
            models.CheckConstraint(
                condition=Q(lane__isnull=False, number__gte=1, chain__isnull=False),
                name="episodes_auditentry_is_chained",
            ),
            # verify_audit walks along it; two entries cannot take one place.
            models.UniqueConstraint(
                fields=["lane", "number"], name="episodes_auditentry_one_per_place"
            ),
        ]
        indexes = [
            # The audit page of an app, newest first.
            models.Index(fields=["app", "-at", "-id"], name="auditentry_newest_of_app"),
            # What was done to one thing (episode page, incident).
            models.Index(
                fields=["app", "target_kind", "target_id", "at"], name="auditentry_of_target"
            ),
            # The audit page of an app, of one person, key or command.
            models.Index(fields=["app", "actor", "-at", "-id"], name="auditentry_of_actor"),
            # The audit page, what one API key did.
            models.Index(
                fields=["app", "key_prefix", "-at", "-id"],
                name="auditentry_of_key",
                condition=~Q(key_prefix=""),
            ),
            # The audit page, what one request did.
            models.Index(
                fields=["app", "request_id"],
                name="auditentry_of_request",
                condition=~Q(request_id=""),
            ),
            # The audit page, reads alone: few among many changes.
            models.Index(
                fields=["app", "-at", "-id"], name="auditentry_reads_of_app", condition=IS_A_READ
            ),
        ]
        triggers: list[pgtrigger.Trigger] = [append_only()]

    def __str__(self) -> str:
        return f"{self.actor} {self.verb} {self.target_kind}"


class AuditPayload(models.Model):
    """The text of an audit entry: {"reason", "before", "after", …}. Erasable with its subject.

    Kept as the very JSON text that was hashed: jsonb would rewrite its numbers.
    """

    entry_id = models.UUIDField(primary_key=True)
    app = models.ForeignKey(
        App, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    user_id = models.CharField(max_length=256, null=True)
    salt = models.BinaryField(max_length=16)
    canonical = models.TextField()

    class Meta:
        indexes = [
            # A subject's payloads (erasure).
            models.Index(
                fields=["app", "user_id"],
                name="auditpayload_of_user",
                condition=Q(user_id__isnull=False),
            ),
        ]
        triggers: list[pgtrigger.Trigger] = [append_only()]

    def __str__(self) -> str:
        return str(self.entry_id)

    @property
    def payload(self) -> dict[str, Any]:
        return dict(orjson.loads(self.canonical))


class OnlyForwards(Keeper):
    """Lets a lane get longer, and neither shorter nor lost."""

    rights = "SELECT, INSERT, UPDATE (number, chain)"


class AuditLane(models.Model):
    """The end of one lane of the chain: how many entries it has and the hash over all of them."""

    lane = models.SmallIntegerField(primary_key=True)
    number = models.BigIntegerField()
    chain = models.BinaryField(max_length=32)

    class Meta:
        triggers: list[pgtrigger.Trigger] = [
            OnlyForwards(
                name="only_forwards",
                operation=pgtrigger.Update | pgtrigger.Delete,
                when=pgtrigger.Before,
                func="""
                    IF TG_OP = 'UPDATE' AND NEW.lane = OLD.lane AND NEW.number > OLD.number THEN
                        RETURN NEW;
                    END IF;
                    RAISE EXCEPTION 'a lane of the audit only gets longer'
                        USING ERRCODE = 'restrict_violation';
                """,
            ),
            # At the commit: the place is taken before the entry is written (episodes/audit/chain.py).
            # A lane that was once too far ahead could never be taken back. The function (migration
            # 0020) looks past the wall of the API's role: what another app wrote counts, too.
            pgtrigger.Trigger(
                name="ends_at_an_entry",
                operation=pgtrigger.Insert | pgtrigger.Update,
                when=pgtrigger.After,
                timing=pgtrigger.Deferred,
                func="""
                    IF NOT memoryadmin_audit_has(NEW.lane, NEW.number, NEW.chain) THEN
                        RAISE EXCEPTION 'lane % of the audit has no entry %', NEW.lane, NEW.number
                            USING ERRCODE = 'restrict_violation';
                    END IF;
                    RETURN NULL;
                """,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.lane}: {self.number}"


class AuditCheckpoint(models.Model):
    """The ends of all lanes at one moment, signed: what was written before cannot be cut off or
    written anew by somebody who has the database but not the signing key.

    `statement` is memoryadmin.lib.signing's JSON, as it was signed.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    at = models.DateTimeField(default=clock.now, db_default=Now())
    statement = models.JSONField()

    class Meta:
        indexes = [
            # verify_audit reads them in order; the newest says whether there is anything new.
            models.Index(F("at").desc(), F("id").desc(), name="auditcheckpoint_newest"),
        ]
        triggers: list[pgtrigger.Trigger] = [append_only()]

    def __str__(self) -> str:
        return str(self.id)


class AuditCut(models.Model):
    """The beginning of a lane that was deleted when its time was over: signed, and the only way in
    which entries may be missing (episodes/audit/cutting.py).

    `number`: the last entry that is gone. `statement` is memoryadmin.lib.signing's JSON.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    at = models.DateTimeField(default=clock.now, db_default=Now())
    lane = models.SmallIntegerField()
    number = models.BigIntegerField()
    statement = models.JSONField()

    class Meta:
        constraints = [
            # verify_audit reads the cuts of a lane in order, the cutter the last of them.
            models.UniqueConstraint(
                fields=["lane", "number"], name="episodes_auditcut_one_per_place"
            ),
            models.CheckConstraint(
                condition=Q(number__gte=1), name="episodes_auditcut_takes_something"
            ),
        ]
        triggers: list[pgtrigger.Trigger] = [append_only()]

    def __str__(self) -> str:
        return f"{self.lane}: {self.number}"


class AuditVerification(models.Model):
    """One walk over the whole chain: as far as it has come, and what it found. No text of anybody.

    Written after each stretch, so that one that was killed is gone on with from `lane`, `number`
    and `chain`, which is the chain up to there.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    started_at = models.DateTimeField(default=clock.now, db_default=Now())
    # Who asked for it; '' where it was its time.
    asked_by = models.CharField(max_length=200, default="", blank=True)
    finished_at = models.DateTimeField(null=True)
    lane = models.SmallIntegerField(default=-1)
    number = models.BigIntegerField(default=0)
    chain = models.BinaryField(max_length=32, default=b"")
    # How many entries there were when it began, and how many of them it has seen.
    n_due = models.BigIntegerField(default=0)
    entries = models.BigIntegerField(default=0)
    lanes = models.IntegerField(default=0)
    erased = models.BigIntegerField(default=0)
    cut = models.BigIntegerField(default=0)
    checkpoints = models.IntegerField(default=0)
    unchained = models.BigIntegerField(default=0)
    # The first break: {"what", "lane", "number", "entry"}.
    broken = models.JSONField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["finished_at"],
                condition=Q(finished_at__isnull=True),
                nulls_distinct=False,
                name="episodes_auditverification_one_unfinished",
            ),
            models.CheckConstraint(
                condition=Q(finished_at__isnull=True) | Q(finished_at__gte=F("started_at")),
                name="episodes_auditverification_ends_after_it_begins",
            ),
            models.CheckConstraint(
                condition=Q(broken__isnull=True) | Q(finished_at__isnull=False),
                name="episodes_auditverification_ends_with_a_break",
            ),
        ]
        indexes = [
            # The last one of all, and the last that found nothing (audit page, nightly run).
            models.Index(F("finished_at").desc(), name="auditverification_newest"),
        ]
        triggers = [
            ChangesOnly(
                columns=(
                    *("finished_at", "lane", "number", "chain", "entries", "lanes", "erased"),
                    *("cut", "checkpoints", "unchained", "broken"),
                ),
                until="finished_at",
            )
        ]

    def __str__(self) -> str:
        return str(self.id)
