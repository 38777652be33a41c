"""How the views describe themselves in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.serializers import Serializer

from episodes.api.fields import TextField
from episodes.api.problem import CONTENT_TYPE
from episodes.api.serializers.problem import ProblemSerializer

View = TypeVar("View", bound=Callable[..., Any])
Shape = type[Serializer[Any]]

REFUSALS = {
    400: "Unparsable, or a query string that is not UTF-8 (`invalid_utf8`).",
    401: "No key, or one that is not valid (`invalid_key`); no valid subject token.",
    403: "The key lacks the scope.",
    404: "Not there, or another app's or subject's.",
    409: "In conflict with what is stored or under way.",
    410: "The subject was erased (`subject_erased`).",
    411: "A body without a Content-Length.",
    413: "Too large.",
    415: "Not application/json.",
    422: "A field or a header is invalid.",
    429: "Too many requests with this key.",
    503: "The database is not there (`unavailable`); try again.",
}
_ALWAYS = (400, 401, 403, 429, 503)
_WITH_BODY = (411, 413, 415, 422)
_OF_A_WRITE = (409, 411, 422)  # whose Idempotency-Key is judged, too
_MAY_WAIT = (409, 429, 503)
_LIMITS = {
    "RateLimit-Limit": "Requests a minute. On every answer to a valid key, a 401 `subject_token` too.",
    "RateLimit-Remaining": "Left in this minute.",
    "RateLimit-Reset": "Seconds to the next minute.",
}


def _header(
    name: str, description: str, statuses: list[int], *, kind: OpenApiTypes = OpenApiTypes.STR
) -> OpenApiParameter:
    return OpenApiParameter(
        name=name,
        type=kind,
        location=OpenApiParameter.HEADER,
        description=description,
        response=statuses,
    )


def describe(
    summary: str,
    *,
    answers: Mapping[int, Shape],
    request: Shape | None = None,
    query: Shape | None = None,
    refusals: tuple[int, ...] = (),
    writes: bool = False,
    media_type: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> Callable[[View], View]:
    """Describe one method of a view. `refusals` come on top of what every view may answer, and
    `headers` are those that only its own answer has."""
    asked = _WITH_BODY if request else (422,) if query else ()
    refused = sorted({*_ALWAYS, *asked, *refusals, *(_OF_A_WRITE if writes else ())})
    succeeded, every = list(answers), [*answers, *refused]
    waiting = [status for status in refused if status in _MAY_WAIT]
    whole = OpenApiTypes.INT
    parameters: list[Any] = [query] if query else []
    if writes:
        parameters += [
            OpenApiParameter(
                name="Idempotency-Key",
                type={"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
                location=OpenApiParameter.HEADER,
                description="The same key and request within 24 hours replays the answer, with "
                "`Idempotent-Replayed: true`.",
            ),
            _header("Idempotent-Replayed", "`true` where an answer is replayed.", succeeded),
        ]
    parameters += [
        OpenApiParameter(
            name="X-Subject-Token",
            location=OpenApiParameter.HEADER,
            description="`user_id.expiry.hmac`, the id percent-encoded, for a key that demands it.",
        ),
        *(_header(name, said, every, kind=whole) for name, said in _LIMITS.items()),
        _header("Retry-After", "Seconds.", waiting, kind=whole),
        _header("X-Request-Id", "Ours, which stands in the audit.", every),
        _header("WWW-Authenticate", "How to send the key.", [401]),
        *(_header(name, said, succeeded) for name, said in (headers or {}).items()),
    ]
    responses: dict[Any, Any] = {(status, media_type): shape for status, shape in answers.items()}
    for status in refused:
        responses[status, CONTENT_TYPE] = OpenApiResponse(ProblemSerializer, REFUSALS[status])
    return extend_schema(
        summary=summary, request=request, parameters=parameters, responses=responses
    )


class ApiSchema(AutoSchema):
    """Says which scope a view needs."""

    def get_description(self) -> str:  # type: ignore[override]  # drf-spectacular's own form
        scope = getattr(self.view, "scope", None)
        return f"Scope: `{scope.value}`." if scope else ""

    def _map_serializer_field(self, field: Any, direction: Any, *options: Any, **more: Any) -> Any:
        """Say of what comes in that it may not be empty; DRF says that of what goes out, too."""
        told = super()._map_serializer_field(field, direction, *options, **more)  # type: ignore[no-untyped-call]
        if isinstance(field, TextField) and not field.allow_blank and told.get("type") == "string":
            return told if "enum" in told else {**told, "minLength": 1}
        return told

    def get_tags(self) -> list[str]:
        return [self.path.removeprefix("/api/v1/").partition("/")[0]]


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "episodes.api.authentication.KeyAuthentication"
    name = "key"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "mem_<prefix>_<secret>"}
