from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

import orjson
import pytest

from memoryadmin.lib import ledger, signing
from memoryadmin.lib.ledger import BrokenLedgerError
from memoryadmin.lib.signing import BadSignatureError, Signed


def path(settings: Any) -> Path:
    return Path(settings.LEDGER_PATH)


def test_a_statement_is_signed_for_its_kind(settings: Any) -> None:
    signed = signing.sign("certificate", {"n": 1})

    signing.verify(signed, kind="certificate")
    with pytest.raises(BadSignatureError):
        signing.verify(signed, kind="checkpoint")
    with pytest.raises(BadSignatureError):
        signing.verify(
            Signed("checkpoint", signed.body, signed.key_id, signed.public_key, signed.signature),
            kind="checkpoint",
        )


def test_a_changed_statement_or_another_key_is_refused(settings: Any) -> None:
    signed = signing.sign("certificate", {"n": 1})
    changed = Signed(**{**signed.as_json(), "body": {"n": 2}})  # type: ignore[arg-type]
    settings.SIGNING_KEY = "another key of at least thirty-two characters"
    foreign = signing.sign("certificate", {"n": 1})

    with pytest.raises(BadSignatureError):
        signing.verify(changed, kind="certificate", public_key=signed.public_key)
    with pytest.raises(BadSignatureError):
        signing.verify(foreign, kind="certificate", public_key=signed.public_key)
    with pytest.raises(BadSignatureError):
        signing.verify(signed, kind="certificate", public_key="no key")


def test_lines_are_read_back_in_order(settings: Any) -> None:
    assert list(ledger.read()) == []
    written = [ledger.append("note", {"n": n}) for n in range(5)]

    assert list(ledger.read()) == written
    assert [line.n for line in written] == [1, 2, 3, 4, 5]
    assert path(settings).stat().st_mode & 0o777 == 0o600


def test_a_line_that_a_crash_cut_short_is_no_statement(settings: Any) -> None:
    first = ledger.append("note", {"n": 1})
    with path(settings).open("ab") as file:
        file.write(b'{"n": 2, "previous": "' + b"0" * 20)

    second = ledger.append("note", {"n": 2})

    assert list(ledger.read()) == [first, second]


def test_a_missing_a_swapped_and_a_changed_line_are_found(settings: Any) -> None:
    for n in range(4):
        ledger.append("note", {"n": n})
    lines = path(settings).read_bytes().splitlines(keepends=True)
    missing = [lines[0], lines[2], lines[3]]
    swapped = [lines[0], lines[2], lines[1], lines[3]]
    told = orjson.loads(lines[3])
    told["signed"]["body"]["n"] = 9
    changed = [*lines[:3], orjson.dumps(told) + b"\n"]

    for wrong, error in (
        (missing, BrokenLedgerError),
        (swapped, BrokenLedgerError),
        (changed, BadSignatureError),
    ):
        path(settings).write_bytes(b"".join(wrong))
        with pytest.raises(error):
            list(ledger.read())


def test_a_line_longer_than_what_is_looked_at_first_is_found(settings: Any) -> None:
    long = ledger.append("note", {"text": "x" * 400_000})

    assert ledger.append("note", {}).n == long.n + 1
    assert len(list(ledger.read())) == 2


def test_processes_append_one_after_the_other(settings: Any) -> None:
    forked = multiprocessing.get_context("fork")
    writers = [forked.Process(target=_append_many, args=(name,)) for name in "abcd"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)

    assert [line.n for line in ledger.read()] == list(range(1, 101))


def _append_many(name: str) -> None:
    for n in range(25):
        ledger.append("note", {"by": name, "n": n})
