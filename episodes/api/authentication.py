"""Who calls: the API key, and the subject it is bound to when it demands a signed token."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from episodes.api.problem import Problem, not_found
from episodes.api.route import route_of
from episodes.keys import lookup
from episodes.keys.lookup import Caller
from episodes.keys.subject_tokens import InvalidSubjectTokenError, verify_subject

_BEARER = re.compile(r"bearer +(\S+) *", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Access:
    """What `request.auth` is. `subject` None: the key may name any subject of its app."""

    caller: Caller
    subject: str | None = None

    def demand(self, *, user_id: str, app: str | None = None) -> None:
        """Raise a 404 for another app's name or another subject than the one signed for."""
        self.demand_app(app)
        if self.subject is not None and user_id != self.subject:
            raise not_found()

    def demand_app(self, app: str | None) -> None:
        """A request may repeat the key's app; another one's name is a 404."""
        if app is not None and app != self.caller.app_name:
            raise not_found()


class KeyAuthentication(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[None, Access] | None:
        header = request.META.get("HTTP_AUTHORIZATION", "")
        if not header:
            return None
        bearer = _BEARER.fullmatch(header)
        route = route_of(request)
        caller = lookup.authenticate(bearer[1], route=route, walled=True) if bearer else None
        if caller is None:
            raise Problem(401, "invalid_key", "The API key is not valid.")
        # the answer tells how much of the limit is left, also when the token is refused
        request.caller = caller  # type: ignore[attr-defined]
        if not caller.demands_subject_token:
            return None, Access(caller)
        return None, Access(caller, _subject(caller, request))

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="api"'


def _subject(caller: Caller, request: Request) -> str:
    try:
        token = request.META.get("HTTP_X_SUBJECT_TOKEN", "")
        return verify_subject(key_ids=caller.signed_for, token=token)
    except InvalidSubjectTokenError:
        raise Problem(401, "subject_token", "This key needs a valid X-Subject-Token.") from None
