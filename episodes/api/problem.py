"""Errors as RFC 9457 problems: every answer of the API that is not a success looks like this.

    {"type": "urn:memoryadmin:problem:<code>", "title", "status", "detail",
     "errors": [{"pointer", "code", "detail"}]}

`pointer` is a JSON pointer into the body, or "/name" for a query parameter, or "" for the request
as a whole. No detail repeats what was sent.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import orjson
import psycopg
from django.core.exceptions import PermissionDenied
from django.core.signals import got_request_exception
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpResponse
from rest_framework import exceptions
from rest_framework.request import Request

from episodes.exceptions import (
    FeedbackNotAllowedError,
    SubjectErasedError,
)
from episodes.ingest.exceptions import (
    MalformedSessionError,
    SessionTooLargeError,
    UnknownFormatError,
)

CONTENT_TYPE = "application/problem+json"
RETRY_AFTER_OUTAGE = 5  # seconds

Error = dict[str, str]
_log = logging.getLogger(__name__)


class Problem(exceptions.APIException):
    """A refusal with one cause. `pointer` names the member at fault, "" the whole request."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        pointer: str = "",
        retry_after: int | None = None,
    ) -> None:
        super().__init__(detail, code)
        self.status_code = status
        self.code = code
        self.pointer = pointer
        self.retry_after = retry_after


def not_found() -> Problem:
    """What does not exist, and what is somebody else's: the caller cannot tell which."""
    return Problem(404, "not_found", "There is nothing here that this key may see.")


def answer_problem(exc: Exception, request: Request | None) -> HttpResponse:
    """Return the problem that tells an exception; an unforeseen one is logged and is a 500."""
    if isinstance(exc, exceptions.ValidationError):
        return _response(422, "invalid", "The request has invalid fields.", errors_of(exc))
    told = _told(exc) or _unforeseen(exc, request)
    response = _response(told.status_code, told.code, str(told.detail), [error_of(told)])
    if told.retry_after is not None:
        response["Retry-After"] = str(told.retry_after)
    if told.status_code == HTTPStatus.UNAUTHORIZED:
        response["WWW-Authenticate"] = 'Bearer realm="api"'
    return response


def refusal_of(exc: Exception, request: Request | None) -> list[Error] | None:
    """Return why one item of a batch is rejected, or None when the database is not there."""
    if isinstance(exc, exceptions.ValidationError):
        return errors_of(exc)
    told = _told(exc) or _unforeseen(exc, request)
    return None if told.status_code == HTTPStatus.SERVICE_UNAVAILABLE else [error_of(told)]


def error_of(problem: Problem) -> Error:
    return {"pointer": problem.pointer, "code": problem.code, "detail": str(problem.detail)}


def errors_of(exc: exceptions.ValidationError) -> list[Error]:
    """Flatten DRF's nested details into one list, in the order of the fields."""
    return list(_flatten(exc.get_full_details(), ""))


def _flatten(details: Any, pointer: str) -> Iterator[Error]:
    if isinstance(details, Mapping):
        if set(details) == {"message", "code"} and not isinstance(details["message"], dict):
            yield {
                "pointer": pointer,
                "code": str(details["code"]),
                "detail": str(details["message"]),
            }
            return
        for name, inner in details.items():
            below = pointer if name == "non_field_errors" else f"{pointer}/{_escaped(name)}"
            yield from _flatten(inner, below)
    elif isinstance(details, Sequence):
        for number, inner in enumerate(details):
            is_leaf = isinstance(inner, Mapping) and "message" in inner and "code" in inner
            yield from _flatten(inner, pointer if is_leaf else f"{pointer}/{number}")


def _escaped(name: object) -> str:
    return str(name).replace("~", "~0").replace("/", "~1")


def _told(exc: Exception) -> Problem | None:
    """Return what a foreseen exception says to a caller."""
    match exc:
        case Problem():
            return exc
        case Http404():
            return not_found()
        case SubjectErasedError():
            return Problem(410, "subject_erased", "This subject was erased; nothing was stored.")
        case FeedbackNotAllowedError():
            return Problem(
                403,
                "missing_scope",
                "To bring feedback along, the key needs the scope `feedback`.",
                pointer="/session/feedback",
            )
        case SessionTooLargeError():
            return Problem(413, exc.code, exc.detail, pointer=f"/session{exc.pointer}")
        case MalformedSessionError():
            return Problem(422, exc.code, exc.detail, pointer=f"/session{exc.pointer}")
        case UnknownFormatError():
            return Problem(422, "unknown_format", "No such format.", pointer="/format")
        case PermissionDenied() | exceptions.PermissionDenied():
            return Problem(403, "missing_scope", "The key lacks the scope that this needs.")
        case exceptions.NotAuthenticated():
            return Problem(401, "not_authenticated", "An API key is needed: Authorization: Bearer.")
        case exceptions.MethodNotAllowed():
            return Problem(405, "method_not_allowed", "This address does not answer that method.")
        case exceptions.UnsupportedMediaType():
            return Problem(415, "unsupported_media_type", "Send application/json.")
        case OperationalError() | InterfaceError() | psycopg.OperationalError():
            _log.error("the database is not available: %s", type(exc).__name__)
            return Problem(503, "unavailable", "Try again shortly.", retry_after=RETRY_AFTER_OUTAGE)
        case exceptions.APIException():
            code = exc.get_codes()
            return Problem(
                exc.status_code, code if isinstance(code, str) else "invalid", str(exc.detail)
            )
    return None


def _unforeseen(exc: Exception, request: Request | None) -> Problem:
    """Log where it happened, but neither its message nor its values: they may be a subject's."""
    frames, trace = [], exc.__traceback__
    while trace is not None:
        frames.append(f"{trace.tb_frame.f_code.co_qualname}:{trace.tb_lineno}")
        trace = trace.tb_next
    _log.error("unforeseen %s at %s", type(exc).__qualname__, " > ".join(frames[-12:]))
    # what Django sends for an exception that leaves a view: the test client raises it again
    got_request_exception.send(sender=None, request=request)
    return Problem(500, "internal", "This should not have happened; it was logged.")


def _response(status: int, code: str, detail: str, errors: list[Error]) -> HttpResponse:
    body = {
        "type": f"urn:memoryadmin:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "errors": errors,
    }
    return HttpResponse(orjson.dumps(body), status=status, content_type=CONTENT_TYPE)
