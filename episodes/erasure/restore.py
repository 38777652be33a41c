"""Bringing a restored backup up to date: the ledger knows erasures that the database does not.

The ledger has keyed hashes only. Who they are is found by hashing every subject that the database
holds; where it holds nothing of one, only the tombstone is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from psycopg.sql import SQL, Identifier

from episodes import audit
from episodes.audit import Actor
from episodes.erasure.check import read_tables
from episodes.erasure.ledger import BEGUN, READMITTED
from episodes.erasure.request import readmit_subject, request_erasure
from episodes.models import App, Erasure, Tombstone
from episodes.tombstones import key_id, subject_hash
from memoryadmin.lib import ledger

REASON = "Erased before the backup was restored; the ledger says so."


@dataclass(frozen=True, slots=True)
class Missing:
    """An erasure that the database does not know. `user_id` None: it holds nothing of that subject.

    `readmitted`: the subject was let in again after the last of its erasures.
    `is_foreign_key`: hashed under another MEMORYADMIN_HASH_KEY, so nobody can be recognised.
    """

    erasure: UUID
    app: App | None
    subject_hash: bytes
    user_id: str | None
    readmitted: bool
    is_foreign_key: bool


def find_missing() -> list[Missing]:
    """Return what the ledger knows and the database does not, one for each subject."""
    begun, readmitted = _read_ledger()
    apps = {app.pk: app for app in App.objects.all()}
    known = set(
        Erasure.objects.filter(pk__in=[body["erasure"] for body in begun.values()]).values_list(
            "pk", flat=True
        )
    )
    unknown = {hashed: body for hashed, body in begun.items() if UUID(body["erasure"]) not in known}
    subjects = _subjects(unknown) if unknown else {}
    found = [
        Missing(
            erasure=UUID(body["erasure"]),
            app=_app_of(apps, body),
            subject_hash=bytes.fromhex(hashed),
            user_id=subjects.get(hashed),
            readmitted=readmitted.get(hashed, "") > body["at"],
            is_foreign_key=body["key_id"] != key_id(),
        )
        for hashed, body in unknown.items()
    ]
    return [one for one in found if not _is_settled(one)]


def _is_settled(one: Missing) -> bool:
    """Nothing is stored of the subject, and its tombstone stands or was taken away."""
    if one.user_id is not None or one.app is None or one.is_foreign_key:
        return False
    standing = Tombstone.objects.standing().filter(app=one.app, subject_hash=one.subject_hash)
    return one.readmitted or standing.exists()


@transaction.atomic
def apply_missing(missing: Missing, *, actor: Actor) -> Erasure | None:
    """Ask for the erasure again; where nothing is stored, put the tombstone back. What was let in
    again afterwards is let in again. None: there is nothing to run.

    Run until it is verified before anybody is served from this database.
    """
    assert missing.app is not None  # noqa: S101 - the caller leaves out apps that are not there
    if missing.user_id is not None:
        return request_erasure(app=missing.app, user_id=missing.user_id, actor=actor, reason=REASON)
    if not missing.readmitted:
        _, is_new = Tombstone.objects.get_or_create(
            app=missing.app,
            subject_hash=missing.subject_hash,
            readmitted_at=None,
            defaults={"key_id": key_id()},
        )
        if is_new:
            audit.record(
                actor=actor,
                verb="tombstone.restored",
                target_kind="erasure",
                target_id=missing.erasure,
                app=missing.app,
                reason=REASON,
            )
    return None


def readmit_again(missing: Missing, *, actor: Actor) -> None:
    """After its erasure was verified: the ledger says that the subject was let in again since."""
    if missing.readmitted and missing.app is not None and missing.user_id is not None:
        readmit_subject(app=missing.app, user_id=missing.user_id, actor=actor, reason=REASON)


def _read_ledger() -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Return, by subject, its last erasure, and when it was let in again last. Raises
    BrokenLedgerError and BadSignatureError: a ledger that was changed decides about nothing."""
    begun: dict[str, dict[str, Any]] = {}
    readmitted: dict[str, str] = {}
    for line in ledger.read():
        body: Any = line.signed.body
        if line.signed.kind == BEGUN:
            begun[body["subject_hash"]] = body
        elif line.signed.kind == READMITTED:
            readmitted[body["subject_hash"]] = body["at"]
    return begun, readmitted


def _app_of(apps: dict[int, App], body: dict[str, Any]) -> App | None:
    app = apps.get(body["app_id"])
    return app if app is not None and app.name == body["app"] else None


def _subjects(wanted: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Return the id of each wanted subject of whom any table has a row."""
    found: dict[str, str] = {}
    for app_id, user_id in _every_subject():
        hashed = subject_hash(app_id=app_id, user_id=user_id).hex()
        if hashed in wanted:
            found[hashed] = user_id
    return found


def _every_subject() -> Iterator[tuple[int, str]]:
    for table in read_tables():
        if not (table.is_by_app and table.is_by_subject):
            continue
        with connection.cursor() as cursor:
            cursor.execute(
                SQL(
                    "SELECT DISTINCT app_id, user_id FROM {}"
                    " WHERE user_id IS NOT NULL AND app_id IS NOT NULL"
                ).format(Identifier(table.schema, table.name))
            )
            while rows := cursor.fetchmany(2_000):
                yield from rows
