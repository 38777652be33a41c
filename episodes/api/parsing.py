"""Reading a JSON body: bounded in bytes and in depth, decoded once, strict about numbers.

orjson refuses NaN, Infinity, 1e999, lone surrogates and invalid UTF-8. Of repeated members of an
object the last counts; everything after this module works on the decoded value, so no two parts
of the program can read one body differently.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import IO, Any

import orjson
from django.conf import settings
from rest_framework.parsers import BaseParser

from episodes.api.problem import Problem

DEEPEST = 64


class JSONParser(BaseParser):
    """A body of at most `most_bytes`: by default what one session may have."""

    media_type = "application/json"
    most_bytes: int = settings.SESSION_MAX_BYTES

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        return decode(self._read(stream, (parser_context or {})["request"].META))

    def _read(self, stream: IO[Any], meta: Mapping[str, Any]) -> bytes:
        if meta.get("HTTP_CONTENT_ENCODING", "identity") != "identity":
            raise Problem(415, "content_encoding", "Send the body without a content encoding.")
        declared = meta.get("CONTENT_LENGTH") or ""
        # the declared length is known before a byte is read; a lie about it ends with the stream
        if declared.isdigit() and int(declared) > self.most_bytes:
            raise too_large(self.most_bytes)
        body: bytes = stream.read(self.most_bytes + 1)
        if len(body) > self.most_bytes:
            raise too_large(self.most_bytes)
        return body


class BatchParser(JSONParser):
    most_bytes = settings.BATCH_MAX_BYTES


def too_large(most_bytes: int, pointer: str = "") -> Problem:
    return Problem(
        413, "too_large", f"At most {most_bytes // 1024**2} MiB are taken.", pointer=pointer
    )


def decode(body: bytes) -> object:
    """Return the decoded JSON. Raises Problem 400 for what is no JSON or nested too deeply."""
    try:
        decoded = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Problem(400, "unparsable", f"Not JSON: {error.msg}.") from None
    if body.count(b"[") + body.count(b"{") > DEEPEST and _is_too_deep(decoded):
        raise Problem(400, "too_deep", f"Nested deeper than {DEEPEST} levels.")
    return decoded


def _is_too_deep(decoded: object) -> bool:
    level = [decoded]
    for _ in range(DEEPEST + 1):
        level = [inner for outer in level for inner in _members(outer)]
        if not level:
            return False
    return True


def _members(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
