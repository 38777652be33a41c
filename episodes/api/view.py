"""What every view of the API has in common: key, limit, scope, problems, headers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar, cast
from urllib.parse import unquote_to_bytes

from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from rest_framework.exceptions import NotAuthenticated, PermissionDenied
from rest_framework.request import Request
from rest_framework.views import APIView

from episodes.addresses import client_address, hashed_address
from episodes.api.authentication import Access, KeyAuthentication
from episodes.api.limits import describe_limit, refuse_excess
from episodes.api.parsing import JSONParser, drain
from episodes.api.problem import Problem, answer_problem, not_found
from episodes.api.route import route_of
from episodes.audit import Actor
from episodes.enums import ActorKind, KeyScope
from episodes.keys.lookup import Caller
from episodes.keys.uses import count_refusal
from episodes.models import App
from memoryadmin.lib import ids, row_scope

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class ApiView(APIView):
    """Checked in this order: key (401), limit (429), method (405), scope (403), body."""

    scope: ClassVar[KeyScope | None] = None
    # Whether a signed subject token shows the request that subject's rows only. Not where something
    # is written: a write is judged by what other subjects wrote, too.
    walled_by_subject: ClassVar[bool] = True
    # Whether a POST without a body is no JSON, and not a request that leaves every member out.
    needs_body: ClassVar[bool] = True
    authentication_classes = [KeyAuthentication]
    permission_classes = []
    parser_classes = [JSONParser]
    http_method_names = ["get", "head", "post", "delete"]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        with row_scope.one_request():
            response: HttpResponseBase = super().dispatch(request, *args, **kwargs)
            if isinstance(response, StreamingHttpResponse):
                chunks = cast(Iterator[bytes], response.streaming_content)
                response.streaming_content = row_scope.lasting(chunks)
            return response

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Replace DRF's negotiation: answers are JSON, whatever is accepted."""
        if request.auth is None:
            raise NotAuthenticated
        access = access_of(request)
        refuse_excess(access.caller)
        if "\0" in request.path:
            raise not_found()  # PostgreSQL would refuse to compare it with anything
        _refuse_broken_query(request)
        if not hasattr(self, str(request.method).lower()):
            self.http_method_not_allowed(request)
        if self.scope is not None:
            demand_scope(request, self.scope)
        if access.subject is not None and self.walled_by_subject:
            row_scope.show_only(access.subject)
        if "HTTP_TRANSFER_ENCODING" in request.META and not request.META.get("CONTENT_LENGTH"):
            raise Problem(411, "length_required", "Send the body with a Content-Length.")
        if request.method == "POST" and self.needs_body and not _has_body(request):
            raise Problem(400, "unparsable", "Not JSON: the body is empty.")

    def handle_exception(self, exc: Exception) -> Any:
        return answer_problem(exc, getattr(self, "request", None))

    def finalize_response(
        self, request: Request, response: HttpResponseBase, *args: Any, **kwargs: Any
    ) -> Any:
        response["Cache-Control"] = "no-store"
        response["X-Request-Id"] = request_id(request)
        if response.status_code == 405:
            response["Allow"] = ", ".join(self.allowed_methods)
        caller: Caller | None = getattr(request, "caller", None)
        if caller is not None:
            describe_limit(response, caller)
            if response.status_code >= 400:
                count_refusal(caller=caller, route=route_of(request), status=response.status_code)
                drain(request)
        return response


def _refuse_broken_query(request: Request) -> None:
    """Django makes U+FFFD of what is no UTF-8, and so one id of several."""
    try:
        unquote_to_bytes(request.META.get("QUERY_STRING", "")).decode()
    except UnicodeDecodeError:
        raise Problem(400, "invalid_utf8", "The query string is not UTF-8.") from None


def _has_body(request: Request) -> bool:
    return request.META.get("CONTENT_LENGTH") not in (None, "", "0")


def access_of(request: Request) -> Access:
    return cast(Access, request.auth)


def demand_scope(request: Request, scope: KeyScope) -> None:
    """Raise a 403 unless the key has the scope."""
    if not access_of(request).caller.may(scope):
        raise PermissionDenied


def app_of(request: Request) -> App:
    """Return the key's app as a row, for what writes."""
    return App.objects.get(pk=access_of(request).caller.app_id)


def actor_of(request: Request) -> Actor:
    """Return the key as the actor of what this request changes."""
    caller = access_of(request).caller
    return Actor(
        name=f"key {caller.prefix}",
        kind=ActorKind.KEY,
        key_prefix=caller.prefix,
        request_id=request_id(request),
        sent_request_id=_sent_request_id(request),
        route=route_of(request),
        address_hash=hashed_address(client_address(request.META)),
    )


def request_id(request: Request) -> str:
    """Return our own id of the request, which its answer carries."""
    django_request = request._request
    known: str | None = getattr(django_request, "api_request_id", None)
    if known is None:
        known = str(ids.new_id())
        django_request.api_request_id = known  # type: ignore[attr-defined]
    return known


def _sent_request_id(request: Request) -> str:
    """Return the caller's own id of the request, if it is a plain one: text that can be erased."""
    sent: str = request.META.get("HTTP_X_REQUEST_ID", "")
    return sent if _REQUEST_ID.fullmatch(sent) else ""
