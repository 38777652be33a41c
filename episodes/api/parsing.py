"""Reading a JSON body, of bounded size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from episodes.api.problem import Problem
from episodes.json_input import UnparsableError, decode

DRAINED_BYTES = 64 * 1024 * 1024
_CHUNK = 256 * 1024


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
        body = self._read(stream, (parser_context or {})["request"].META)
        try:
            return decode(body)
        except UnparsableError as error:
            raise Problem(400, error.code, error.detail) from None

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


def drain(request: Request) -> None:
    """Read what a refused request still sends, within reason.

    The server closes a connection whose request was not read to its end, and a client that is
    still writing would see that instead of the answer, a 429 with its Retry-After for one.
    """
    declared = request.META.get("CONTENT_LENGTH") or ""
    if not declared.isdigit() or int(declared) > DRAINED_BYTES:
        return
    try:
        while request._request.read(_CHUNK):
            pass
    except OSError:  # the client went away
        pass


class BatchParser(JSONParser):
    most_bytes = settings.BATCH_MAX_BYTES


def too_large(most_bytes: int, pointer: str = "") -> Problem:
    return Problem(
        413, "too_large", f"At most {most_bytes // 1024**2} MiB are taken.", pointer=pointer
    )
