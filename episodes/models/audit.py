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
from memoryadmin.lib.constraints import append_only, one_of


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


class AuditLane(models.Model):
    """The end of one lane of the chain: how many entries it has and the hash over all of them."""

    lane = models.SmallIntegerField(primary_key=True)
    number = models.BigIntegerField()
    chain = models.BinaryField(max_length=32)

    class Meta:
        triggers: list[pgtrigger.Trigger] = [
            pgtrigger.Trigger(
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
            )
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
