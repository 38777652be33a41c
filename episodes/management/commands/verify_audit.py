from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from episodes.audit.checkpoints import write_checkpoint
from episodes.audit.verifications import keep_verdict
from episodes.audit.verify import Verdict, verify_audit


class Command(BaseCommand):
    help = "Check the chain over all audit entries; name the first break and exit 1."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument(
            "--checkpoint", action="store_true", help="sign where the chain ends if it holds"
        )

    def handle(self, *, json: bool, checkpoint: bool, **options: Any) -> None:
        verdict = verify_audit()
        keep_verdict(verdict, asked_by="manage.py verify_audit")
        if json:
            self.stdout.write(_as_json(verdict))
        if verdict.broken is not None:
            raise CommandError(f"the audit is broken: {verdict.broken}")
        if checkpoint:
            write_checkpoint()
        if not json:
            self.stdout.write(_as_text(verdict))


def _as_json(verdict: Verdict) -> str:
    broken = verdict.broken
    return json.dumps(
        {
            "whole": broken is None,
            "entries": verdict.entries,
            "lanes": verdict.lanes,
            "erased_texts": verdict.erased,
            "cut": verdict.cut,
            "checkpoints": verdict.checkpoints,
            "before_the_chain": verdict.unchained,
            "broken": None
            if broken is None
            else {
                "what": broken.what,
                "lane": broken.lane,
                "number": broken.number,
                "entry": None if broken.entry is None else str(broken.entry),
            },
        }
    )


def _as_text(verdict: Verdict) -> str:
    said = [
        f"the audit is whole: {verdict.entries} entries in {verdict.lanes} lanes",
        f"{verdict.checkpoints} signed checkpoints hold",
    ]
    if verdict.erased:
        said.append(f"{verdict.erased} texts were removed by erasures that say so")
    if verdict.cut:
        said.append(f"{verdict.cut} entries were cut when their time was over, and that is signed")
    if verdict.unchained:
        said.append(f"{verdict.unchained} entries are older than the chain and not covered by it")
    return "; ".join(said)
