"""Sessions in files, as bodies of POST /sessions.

A file is JSON or JSONL (.jsonl, .ndjson). It holds bodies; or bare sessions, whose ids are their
own, or else come from `user` and from the place where the session stands; or, as a list or line by
line, the messages or events of one bare session. A JSON file may also hold a list of bodies or of
bare sessions, or a batch, {"items": [...]}.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings

from episodes.ingest.exceptions import MalformedSessionError, UnknownFormatError
from episodes.ingest.registry import parse
from episodes.json_input import UnparsableError, decode

LINES = {".jsonl", ".ndjson"}
SUFFIXES = {".json", *LINES}
LARGEST_JSON = 256 * 1024 * 1024
ID_LENGTH = 256
_OF_SESSIONS = frozenset({"session", "messages", "events", "steps"})


@dataclass(frozen=True, slots=True)
class Source:
    """One file, and its name below the path that was given."""

    path: Path
    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Found:
    """One session. Either `body` is set or `code` and `detail` say what is wrong with it.

    `read` is how many bytes of its file were read for it.
    """

    place: str
    read: int
    body: dict[str, Any] | None = None
    code: str = ""
    detail: str = ""


class NoSuchPathError(Exception):
    """There is nothing at that path."""


def find_sources(paths: Sequence[Path]) -> list[Source]:
    """Return the named files and, in order of name, those below the named folders.

    In a folder, names that begin with a dot or an underscore are left out. Raises NoSuchPathError.
    """
    sources = []
    for path in paths:
        if path.is_dir():
            sources += [_source(each, below=path) for each in _files_below(path)]
        elif path.is_file():
            sources.append(_source(path, below=path.parent))
        else:
            raise NoSuchPathError(str(path))
    return sources


def read_sessions(source: Source, *, format_name: str, user: str = "") -> Iterator[Found]:
    """Yield the sessions of a file. `format_name` and `user` fill in what a session lacks."""
    reader = _Reader(source, format_name, user)
    if source.path.suffix.lower() in LINES:
        yield from reader.lines()
    else:
        yield from reader.document()


def _files_below(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in SUFFIXES
        and path.is_file()
        and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    )


def _source(path: Path, *, below: Path) -> Source:
    return Source(path, path.relative_to(below).as_posix(), path.stat().st_size)


@dataclass(frozen=True, slots=True)
class _Reader:
    source: Source
    format_name: str
    user: str

    def lines(self) -> Iterator[Found]:
        parts: list[object] = []
        n_read = 0
        with self.source.path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                n_read += len(line)
                if not line.strip():
                    continue
                place = f"{self.source.name}#{number}"
                found = self._line(line, place, n_read)
                if isinstance(found, Found):
                    yield found
                    n_read = 0
                else:
                    parts += found
        if parts:
            yield self._session(parts, self.source.name, n_read)

    def _line(self, line: bytes, place: str, n_read: int) -> Found | list[object]:
        """Return the session of a line, or the line's value as a part of one."""
        if len(line) > settings.SESSION_MAX_BYTES:
            return _too_large(place, n_read)
        try:
            item = decode(line)
        except UnparsableError as error:
            return Found(place, n_read, code=error.code, detail=error.detail)
        return [item] if _is_part(item) else self._session(item, place, n_read)

    def document(self) -> Iterator[Found]:
        name, size = self.source.name, self.source.size
        if size > LARGEST_JSON:
            detail = f"Over {LARGEST_JSON // 1024**2} MiB of JSON; use JSONL."
            yield Found(name, size, code="too_large", detail=detail)
            return
        try:
            document = decode(self.source.path.read_bytes())
        except UnparsableError as error:
            yield Found(name, size, code=error.code, detail=error.detail)
            return
        items = _items_of(document)
        if items is None:
            yield self._checked(document, name, size)
            return
        for number, item in enumerate(items, start=1):
            yield self._checked(item, f"{name}#{number}", size if number == len(items) else 0)

    def _checked(self, item: object, place: str, n_read: int) -> Found:
        is_large = self.source.size > settings.SESSION_MAX_BYTES
        if is_large and len(orjson.dumps(item)) > settings.SESSION_MAX_BYTES:
            return _too_large(place, n_read)
        return self._session(item, place, n_read)

    def _session(self, item: object, place: str, n_read: int) -> Found:
        is_body = isinstance(item, dict) and "session" in item
        body: dict[str, Any] = {**item} if is_body else {"session": item}  # type: ignore[dict-item]
        body.setdefault("format", self.format_name)
        try:
            self._fill_in_ids(body, place)
        except MalformedSessionError as error:
            return Found(place, n_read, code=error.code, detail=str(error))
        except UnknownFormatError:
            return Found(place, n_read, code="unknown_format", detail="No such format.")
        if not body.get("user_id"):
            detail = "The session names no user; give one with --user."
            return Found(place, n_read, code="no_user", detail=detail)
        return Found(place, n_read, body)

    def _fill_in_ids(self, body: dict[str, Any], place: str) -> None:
        if body.get("user_id") and body.get("session_id"):
            return
        parsed = parse(str(body["format"]), body["session"])
        if not body.get("user_id"):
            body["user_id"] = parsed.user_id or self.user
        if not body.get("session_id"):
            # the same file again is the same session again
            body["session_id"] = parsed.session_id or place[-ID_LENGTH:]


def _items_of(document: object) -> list[object] | None:
    """Return the sessions of a document, or None if it is one itself."""
    if isinstance(document, dict) and isinstance(document.get("items"), list):
        return list(document["items"])
    if isinstance(document, list) and document and _is_session(document[0]):
        return document
    return None


def _is_session(item: object) -> bool:
    """A body, a bare session, or the list of one's messages or events."""
    return isinstance(item, list) or (
        isinstance(item, dict) and not item.keys().isdisjoint(_OF_SESSIONS)
    )


def _is_part(item: object) -> bool:
    """A message or an event: it has a speaker, and no session in it."""
    return (
        isinstance(item, dict)
        and not item.keys().isdisjoint({"role", "author"})
        and item.keys().isdisjoint(_OF_SESSIONS)
    )


def _too_large(place: str, n_read: int) -> Found:
    detail = f"A session has at most {settings.SESSION_MAX_BYTES // 1024**2} MiB."
    return Found(place, n_read, code="too_large", detail=detail)
