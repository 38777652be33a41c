from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from episodes.audit import Actor
from episodes.enums import ActorKind, ErasureStatus
from episodes.erasure.finish import finish_erasures
from episodes.erasure.restore import Missing, apply_missing, find_missing, readmit_again
from memoryadmin.lib.ledger import BrokenLedgerError
from memoryadmin.lib.signing import BadSignatureError

ACTOR = Actor(name="check_restore", kind=ActorKind.COMMAND)


class Command(BaseCommand):
    help = (
        "Compare the database with the ledger: name erasures that a restored backup does not know, "
        "and with --apply carry them out again. Run it before anybody is served from a backup."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--apply", action="store_true", help="erase again what is missing")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *, apply: bool, json: bool, **options: Any) -> None:
        try:
            missing = find_missing()
        except (BrokenLedgerError, BadSignatureError) as error:
            raise CommandError(f"the ledger is broken: {error}") from None
        left = [one for one in missing if one.app is None or one.is_foreign_key]
        if apply:
            left += _apply([one for one in missing if one not in left])
        if json:
            self.stdout.write(_as_json(missing, applied=apply, left=left))
        else:
            for one in missing:
                self.stdout.write(_as_text(one))
        if left or (missing and not apply):
            raise CommandError(
                f"{len(left)} erasures could not be carried out again"
                if apply
                else f"{len(missing)} erasures of the ledger are missing here; run it with --apply"
            )
        if not json:
            self.stdout.write(
                f"{len(missing)} erasures were carried out again"
                if missing
                else "the database knows every erasure of the ledger"
            )


def _apply(missing: Sequence[Missing]) -> list[Missing]:
    """Return what did not end verified."""
    asked = {}
    for one in missing:
        erasure = apply_missing(one, actor=ACTOR)
        if erasure is not None:
            asked[erasure.pk] = one
    left = []
    for erasure in finish_erasures(list(asked)):
        if erasure.status == ErasureStatus.VERIFIED:
            readmit_again(asked[erasure.pk], actor=ACTOR)
        else:
            left.append(asked[erasure.pk])
    return left


def _as_text(one: Missing) -> str:
    if one.app is None:
        return f"erasure {one.erasure}: its app is not in this database"
    if one.is_foreign_key:
        return f"erasure {one.erasure}: hashed under another MEMORYADMIN_HASH_KEY"
    there = "its subject's data is here" if one.user_id else "nothing of its subject is here"
    return f"erasure {one.erasure} in {one.app.name}: {there}"


def _as_json(missing: Sequence[Missing], *, applied: bool, left: Sequence[Missing]) -> str:
    return json.dumps(
        {
            "missing": [
                {
                    "erasure_id": str(one.erasure),
                    "app": one.app.name if one.app else None,
                    "has_data": one.user_id is not None,
                    "readmitted": one.readmitted,
                }
                for one in missing
            ],
            "applied": applied,
            "left": [str(one.erasure) for one in left],
        }
    )
