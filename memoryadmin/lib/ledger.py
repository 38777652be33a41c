"""The ledger: what must not be undone by restoring a backup, on disk outside the database.

One line a statement: {"n", "previous", "signed": {…}}; `previous` is sha256 of the line before.
Lines are only ever appended, under a lock of the file, and reach the disk before `append` returns.
A line that a crash cut short is no statement; the next append starts a line of its own after it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import orjson
from django.conf import settings

from memoryadmin.lib.signing import Signed, sign, verify

FIRST = hashlib.sha256(b"memoryadmin ledger").hexdigest()


class BrokenLedgerError(Exception):
    """A line is missing, changed or out of order; the message says which."""


@dataclass(frozen=True, slots=True)
class Line:
    """`digest`: what the next line names as its previous one."""

    n: int
    signed: Signed
    digest: str


def append(kind: str, body: Mapping[str, object]) -> Line:
    """Sign a statement and put it on disk."""
    path: Path = settings.LEDGER_PATH
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    with os.fdopen(handle, "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        last = _last(file)
        n, previous = (last.n + 1, last.digest) if last else (1, FIRST)
        signed = sign(kind, body)
        written = orjson.dumps({"n": n, "previous": previous, "signed": signed.as_json()})
        file.seek(0, os.SEEK_END)
        if file.tell() and not _ends_a_line(file):
            file.write(b"\n")
        file.write(written + b"\n")
        file.flush()
        os.fsync(file.fileno())
    _sync_folder(path.parent)
    return Line(n, signed, hashlib.sha256(written).hexdigest())


def read(path: Path | None = None) -> Iterator[Line]:
    """Yield every statement in order, checked: signature, number and the line before.

    Raises BrokenLedgerError and BadSignatureError. No file is an empty ledger.
    """
    previous, n = FIRST, 0
    try:
        file = (path or settings.LEDGER_PATH).open("rb")
    except FileNotFoundError:
        return
    with file:
        for raw in file:
            line = _read_line(raw)
            if line is None:
                continue
            found, named = line
            if (found.n, named) != (n + 1, previous):
                raise BrokenLedgerError(f"line {found.n} does not follow line {n}")
            verify(found.signed, kind=found.signed.kind)
            previous, n = found.digest, found.n
            yield found


def _last(file: BinaryIO) -> Line | None:
    """Return the last whole line, from the end: the ledger of years is not read for one more."""
    size = file.seek(0, os.SEEK_END)
    window = 1 << 16
    while True:
        start = max(0, size - window)
        file.seek(start)
        lines = file.read(size - start).split(b"\n")
        for raw in reversed(lines[1:] if start else lines):
            found = _read_line(raw)
            if found:
                return found[0]
        if start == 0:
            return None
        window *= 4


def _read_line(raw: bytes) -> tuple[Line, str] | None:
    """Return a line and the digest it names; None for what a crash cut short."""
    try:
        told = orjson.loads(raw)
        signed = Signed(**told["signed"])
        return Line(told["n"], signed, hashlib.sha256(raw.rstrip(b"\n")).hexdigest()), told[
            "previous"
        ]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None


def _ends_a_line(file: BinaryIO) -> bool:
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
