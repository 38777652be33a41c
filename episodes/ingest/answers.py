"""What a tool answered, reduced to ok or an error code. The answer itself is dropped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from episodes.ingest.error_tokens import ERROR, as_token, leading_token, starts_with_exception
from episodes.ingest.foreign import read_json, read_text

_Answer = Mapping[object, object]

_ERROR_FIELDS = (
    "error",
    "errors",
    "exception",
    "error_code",
    "errorCode",
    "error_type",
    "errorType",
)
_STATUS_FIELDS = ("status", "status_code", "statusCode", "http_status")
_CODE_FIELDS = (
    *("error_code", "errorCode", "code", "error_type", "errorType", "exception", "type", "reason"),
    *(
        "errno",
        "status_code",
        "statusCode",
        "http_status",
        "status",
        "title",
        "error",
        "errors",
        "extensions",
    ),
)
_OFTEN_DATA = ("type", "reason", "title")  # {"status": "error", "type": "gift_card"}
_TEXT_FIELDS = ("error", "error_message", "errorMessage", "message", "msg", "detail", "details")

_FAILED = frozenset({"error", "failed", "failure", "fail"})
_NOTHING = frozenset({"", "none", "null", "false", "0", "ok", "no"})
_SAYS_ERROR = re.compile(
    r"\s*(?:<error>|\[error\]|traceback \(most recent call last\)"
    r"|(?:(?:tool|function|api) )?error(?: (?:executing|calling|running|invoking|while|in|code)\b"
    r"[^\n:]{0,120})?\s*(?::|\n|$))",
    re.IGNORECASE,
)
_DEEPEST = 4


def error_of(answer: object) -> str | None:
    """None for ok. There is no common shape: a text that starts with `Error:` or an exception, an
    object with `error`, `isError`, a failed `status`, `success: false`, an HTTP status of 400 or
    more; also as JSON text, also wrapped as {"result": ...}."""
    for _ in range(_DEEPEST):
        if isinstance(answer, str):
            if not isinstance(decoded := _decoded(answer), Mapping):
                return _error_of_text(answer)
            answer = decoded
        if not isinstance(answer, Mapping):
            return None
        if _says_failed(answer):
            return stated_error(answer)
        if len(answer) != 1 or (inner := next(iter(answer))) not in ("result", "output"):
            return None
        answer = answer[inner]
    return None


def stated_error(material: object) -> str:
    """The code in what is known to be an error: a text, an object, a flag."""
    return next(filter(None, _candidates(material, depth=0)), ERROR)


def _decoded(text: str) -> object:
    return read_json(text) if text[:64].lstrip()[:1] == "{" else None


def _error_of_text(text: str) -> str | None:
    start = text[:2000].lstrip()
    if _SAYS_ERROR.match(start) or starts_with_exception(start):
        return stated_error(text)
    return None


def _says_failed(answer: _Answer) -> bool:
    if any(_is_said(answer.get(name)) for name in _ERROR_FIELDS):
        return True
    if answer.get("is_error") is True or answer.get("isError") is True:
        return True
    if answer.get("success") is False or answer.get("ok") is False:
        return True
    status = answer.get("status")
    if isinstance(status, str) and status.strip().casefold() in _FAILED:
        return True
    http = [answer.get(name) for name in _STATUS_FIELDS]
    if "message" in answer or "detail" in answer:
        http.append(answer.get("code"))
    return any(type(value) is int and 400 <= value <= 599 for value in http)


def _is_said(value: object) -> bool:
    return value.strip().casefold() not in _NOTHING if isinstance(value, str) else bool(value)


def _candidates(material: object, *, depth: int) -> Iterator[str | None]:
    if isinstance(material, str):
        decoded = _decoded(material)
        if isinstance(decoded, Mapping) and depth < _DEEPEST:
            yield from _candidates(decoded, depth=depth + 1)
        else:
            yield leading_token(material)
    elif isinstance(material, list) and depth < _DEEPEST:
        for item in material[:3]:
            yield from _candidates(item, depth=depth + 1)
    elif isinstance(material, Mapping) and depth < _DEEPEST:
        yield from _candidates_of_fields(material, depth=depth)
    else:
        yield as_token(material)


def _candidates_of_fields(answer: _Answer, *, depth: int) -> Iterator[str | None]:
    for name in _CODE_FIELDS:
        value = answer.get(name)
        if depth == 0 and name in _OFTEN_DATA and isinstance(value, str) and value.islower():
            continue
        if isinstance(value, Mapping | list):
            yield from _candidates(value, depth=depth + 1)
        elif value not in (0, 200, "0", "200", "error"):
            yield as_token(value)
    for text in (*map(answer.get, _TEXT_FIELDS), read_text(answer.get("content"))):
        if isinstance(text, str):
            yield from _candidates(text, depth=depth + 1)
