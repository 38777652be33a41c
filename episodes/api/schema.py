"""How the views describe themselves in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.serializers import Serializer

from episodes.api.problem import CONTENT_TYPE
from episodes.api.serializers.problem import ProblemSerializer

View = TypeVar("View", bound=Callable[..., Any])
Shape = type[Serializer[Any]]

REFUSALS = {
    400: "Unparsable.",
    401: "No key, or one that is not valid.",
    403: "The key lacks the scope.",
    404: "Not there, or another app's or subject's.",
    409: "In conflict with what is stored or under way.",
    410: "The subject was erased (`subject_erased`).",
    413: "Too large.",
    415: "Not application/json.",
    422: "A field is invalid.",
    429: "Too many requests with this key.",
}
_WITH_BODY = (400, 413, 415, 422)
_MAY_WAIT = (409, 429)


def _header(name: str, description: str, statuses: list[int]) -> OpenApiParameter:
    return OpenApiParameter(
        name=name,
        type=OpenApiTypes.INT,
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
) -> Callable[[View], View]:
    """Describe one method of a view. `refusals` come on top of what every view may answer."""
    asked = _WITH_BODY if request else (422,) if query else ()
    refused = sorted({401, 403, 429, *asked, *refusals, *((409,) if writes else ())})
    # a request without a valid key has no limit to tell of
    limited = [status for status in (*answers, *refused) if status != 401]
    parameters: list[Any] = [query] if query else []
    if writes:
        parameters.append(
            OpenApiParameter(
                name="Idempotency-Key",
                location=OpenApiParameter.HEADER,
                description="The same key and request within 24 hours replays the answer, with "
                "`Idempotent-Replayed: true`.",
            )
        )
    parameters += [
        OpenApiParameter(
            name="X-Subject-Token",
            location=OpenApiParameter.HEADER,
            description="`user_id.expiry.hmac`, for a key that demands it.",
        ),
        _header("RateLimit-Limit", "Requests a minute.", limited),
        _header("RateLimit-Remaining", "Left in this minute.", limited),
        _header("RateLimit-Reset", "Seconds to the next minute.", limited),
        _header("Retry-After", "Seconds.", [s for s in refused if s in _MAY_WAIT]),
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

    def get_tags(self) -> list[str]:
        return [self.path.removeprefix("/api/v1/").partition("/")[0]]


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "episodes.api.authentication.KeyAuthentication"
    name = "key"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "mem_<prefix>_<secret>"}
