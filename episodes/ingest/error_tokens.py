"""One short code for what went wrong: a token like APPROVAL_REQUIRED, an HTTP status or an
exception class. What is no code, or may be a secret or a sentence in disguise, is `error`."""

from __future__ import annotations

import re
from functools import lru_cache

from episodes.masking.redact import mask_value
from episodes.masking.screen import looks_like_instruction

ERROR = "error"
NO_RESULT = "no_result"

_LONGEST = 64
_MOST_WORDS = 6

_UPPER = re.compile(r"[A-Z][A-Z0-9]*(?:[_-][A-Z0-9]+)*")
_LOWER = re.compile(r"[a-z]+[0-9]?(?:_[a-z0-9]+)+")
_CAMEL = re.compile(r"(?:[A-Z][a-z]+){2,6}")
# The only codes of one small word: any other may be a name.
_SMALL = re.compile(
    "timeout|forbidden|unauthorized|unauthenticated|denied|expired|conflict|cancelled|canceled"
    "|aborted|unavailable|invalid|rejected|missing|pending|unsupported|exists|locked|blocked"
    "|declined|throttled|error"
)
_UNTELLING = re.compile("errors?|failed|failure|fail|none|null|true|false|ok", re.IGNORECASE)

_EXCEPTION = re.compile(
    r"(?:[A-Za-z_]\w{0,40}\.){0,6}(?P<name>[A-Z][A-Za-z0-9]{0,48}"
    r"(?:Error|Exception|Timeout|Interrupt|Fault|Failure|Exit|NotFound|Denied|Refused))"
    r"(?![A-Za-z0-9_])"
)
_HTTP = re.compile(
    r"(?:http(?:/\d(?:\.\d)?)?\s*(?:status|error)?\s*(?:code)?\s*[:=]?\s*"
    r"|(?:status|error)\s*(?:code)?\s*[:=]?\s*)?"
    r"(?-i:(?P<status>[45]\d\d)(?=$|\s*[:;,.()\[\]{}-](?!\d)|\s+[A-Z]))",
    re.IGNORECASE,
)
_STATUS_CODE = re.compile(r"(?i)\bstatus code:? (?P<status>[45]\d\d)\b")
_STATUS = re.compile(r"[1-5]\d\d|-32[0-7]\d\d")  # HTTP, JSON-RPC
_LEADING = re.compile(r"[\[(\s\"'`]*(?P<token>[A-Za-z0-9][\w.-]*)(?P<off>[\])\"'`]*\s*(?::|\n|$))?")
_PREAMBLE = re.compile(
    r"[\[(<\s]*(?:(?:tool|function|api)\s+)?(?:error|exception|failed|failure)\s*(?:code|type"
    r"|(?:executing|calling|running|invoking|while|in)\b[^\n:]{0,120}(?=:))?"
    r"[\])>]*\s*[:\-\s]\s*",
    re.IGNORECASE,
)


def as_token(raw: object) -> str | None:
    """The value of a field that holds codes, if it is one."""
    if isinstance(raw, bool) or not isinstance(raw, int | str):
        return None
    if isinstance(raw, int):
        raw = str(raw) if abs(raw) < 100_000 else ""
    text = raw.strip() if len(raw) <= _LONGEST else ""
    if found := _EXCEPTION.fullmatch(text):
        return _harmless(found["name"])
    if _STATUS.fullmatch(text) or _SMALL.fullmatch(text):
        return text
    if len(text) < 3 or _UNTELLING.fullmatch(text) or re.search(r"\d{7}", text):
        return None
    if len(re.split(r"[_-]", text)) > _MOST_WORDS:
        return None
    if any(shape.fullmatch(text) for shape in (_UPPER, _LOWER, _CAMEL)):
        return _harmless(text)
    return None


def leading_token(text: str) -> str | None:
    """The code a message starts with, or the last line of a traceback; else a `status code` that it
    names. Another token further in may be anybody's."""
    start = text[:2000].strip()
    if start.startswith("Traceback"):
        start = text[-2000:].strip().rsplit("\n", 1)[-1]
    for _ in range(3):
        if found := _EXCEPTION.match(start):
            return _harmless(found["name"])
        if found := _HTTP.match(start):
            return found["status"]
        if token := _set_off(start):
            return token
        preamble = _PREAMBLE.match(start)
        if not preamble:
            break
        start = start[preamble.end() :]
    found = _STATUS_CODE.search(text[:500])
    return found["status"] if found else None


def starts_with_exception(text: str) -> bool:
    found = _EXCEPTION.match(text)
    return found is not None and text[found.end() : found.end() + 1] in (":", "(", "")


def _set_off(start: str) -> str | None:
    """NOT_FOUND in running text; another code only where a colon or the end sets it off, and one
    word only where it is all there is: `IMPORTANT: ...` is no code."""
    leading = _LEADING.match(start)
    if not leading:
        return None
    token = leading["token"].rstrip(".-")
    is_telling = "_" in token or any(character.isdigit() for character in token)
    is_alone = leading.end() == len(start) and leading["off"] is not None
    if token.isupper() and "_" in token:
        return as_token(token)
    if (is_telling and leading["off"] is not None) or (is_alone and not token.islower()):
        return as_token(token)
    return None


@lru_cache(maxsize=4096)
def _harmless(token: str) -> str | None:
    words = re.sub(r"[_-]|(?<=[a-z])(?=[A-Z])", " ", token)
    if mask_value(token) != token or looks_like_instruction(words):
        return None
    return token
