"""The HTTP side of Idempotency-Key (episodes/idempotency.py has the rules)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import orjson
from django.db import transaction
from django.http import HttpResponse
from rest_framework.request import Request

from episodes.api.answer import answer
from episodes.api.pointers import without_callers_names
from episodes.api.problem import Problem
from episodes.api.view import access_of
from episodes.idempotency import (
    Claim,
    ClaimLostError,
    InProgressError,
    Kept,
    KeyReusedError,
    claim_request,
    complete_request,
    release_request,
)

REPLAYED = "Idempotent-Replayed"
# Most requests take milliseconds; only one whose process was killed is under way for its lease.
RETRY_AFTER = 2  # seconds
_KEY = re.compile(r"[\x20-\x7e]{1,255}")

Work = Callable[[], tuple[int, Any]]


def once(
    request: Request,
    work: Work,
    *,
    user_ids: Sequence[str] = (),
    in_one: bool = True,
    known_as: object = None,
) -> HttpResponse:
    """Carry out `work`, which returns (status, body), and answer; or replay its answer.

    `in_one`: work and answer are committed together. Without it `work` commits as it goes and
    must itself be safe to repeat. `user_ids` are the subjects that the request names.
    `known_as` stands for the request where not even a digest of what it says may be kept.
    """
    key = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if key is None:
        status, body = work()
        return answer(body, status)
    claim = _claim(request, key, user_ids, known_as)
    if isinstance(claim, Kept):
        replay = answer(_told_again(claim.answer), claim.status)
        replay[REPLAYED] = "true"
        return replay
    try:
        if not in_one:
            status, body = work()
            complete_request(claim=claim, status=status, answer=_keepable(body))
        else:
            with transaction.atomic():
                status, body = work()
                complete_request(claim=claim, status=status, answer=_keepable(body))
    except ClaimLostError:
        raise _in_progress() from None
    except BaseException:
        release_request(claim=claim)
        raise
    return answer(body, status)


def _claim(request: Request, key: str, user_ids: Sequence[str], known_as: object) -> Claim | Kept:
    if not _KEY.fullmatch(key):
        raise Problem(422, "idempotency_key", "Idempotency-Key: 1 to 255 printable characters.")
    caller = access_of(request).caller
    try:
        return claim_request(
            app_id=caller.app_id,
            key_prefix=caller.prefix,
            key=key,
            # members in another order are the same body
            request=orjson.dumps(
                known_as or [request.method, request.path, request.data],
                option=orjson.OPT_SORT_KEYS,
            ),
            user_ids=user_ids,
        )
    except KeyReusedError:
        raise Problem(
            409, "idempotency_key_reused", "This key was sent with another request."
        ) from None
    except InProgressError:
        raise _in_progress() from None


def _in_progress() -> Problem:
    detail = "The same request is under way."
    return Problem(409, "in_progress", detail, retry_after=RETRY_AFTER)


def _keepable(body: Any) -> Any:
    """Return the answer as JSON that holds ids and statuses: of an error only which and where."""
    plain = orjson.loads(orjson.dumps(body, option=orjson.OPT_UTC_Z))
    for error in _errors_in(plain):
        del error["detail"]
        error["pointer"] = without_callers_names(error["pointer"])
    return plain


def _told_again(kept: Any) -> Any:
    """Return a kept answer in the shape that it had: a detail says what its code says."""
    for error in _errors_in(kept):
        error["detail"] = f"{error['code'].replace('_', ' ').capitalize()}."
    return kept


def _errors_in(body: Any) -> Iterator[dict[str, str]]:
    for result in body.get("results", ()):
        yield from result.get("errors", ())
