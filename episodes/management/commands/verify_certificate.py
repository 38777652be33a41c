from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from episodes.erasure.certificate import NoCertificateError, verify_file
from memoryadmin.lib.signing import BadSignatureError


class Command(BaseCommand):
    help = "Check the certificate of an erasure: signed here (or with --public-key), unchanged."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path)
        parser.add_argument(
            "--public-key", help="base64; by default this installation's own public key"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *, file: Path, public_key: str | None, json: bool, **options: Any) -> None:
        try:
            found = verify_file(file.read_bytes(), public_key=public_key)
        except OSError as error:
            raise CommandError(f"{file} cannot be read ({error.strerror})") from None
        except NoCertificateError:
            raise CommandError(f"{file} holds no certificate") from None
        except BadSignatureError:
            raise CommandError(
                f"{file} was changed, or was not signed by the key that was asked for"
            ) from None
        if json:
            self.stdout.write(_as_json(found.body, found.cleared_at))
            return
        body = found.body
        self.stdout.write(
            f"genuine (key {found.key_id}): erasure {body['erasure']} in {body['app']}, "
            f"{body['total']} rows, verified {body['verified_at']}, "
            + (f"physically cleared {found.cleared_at}" if found.cleared_at else "not yet cleared")
        )


def _as_json(body: Any, cleared_at: str | None) -> str:
    return json.dumps({"genuine": True, "cleared_at": cleared_at, **body})
