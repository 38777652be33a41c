from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from episodes.api.idempotency import once
from episodes.api.problem import not_found
from episodes.api.schema import describe
from episodes.api.serializers.toolset import (
    RetireBody,
    RetiredAnswerSerializer,
    ToolsetAnswerSerializer,
    ToolsetBody,
    read_retirement,
    read_toolset,
)
from episodes.api.view import ApiView, access_of, actor_of, app_of
from episodes.enums import KeyScope
from episodes.toolsets import UnknownToolsetError, declare_toolset, retire_toolset


class ToolsetsView(ApiView):
    scope = KeyScope.VERIFY
    walled_by_subject = False

    @describe(
        "Declare the tools that an agent has now",
        request=ToolsetBody,
        answers={201: ToolsetAnswerSerializer, 200: ToolsetAnswerSerializer},
        refusals=(404, 409, 413),
        writes=True,
    )
    def post(self, request: Request) -> HttpResponse:
        body = read_toolset(request.data)
        access_of(request).demand_app(body.pop("app", None))

        def work() -> tuple[int, dict[str, Any]]:
            declared, is_news = declare_toolset(
                app=app_of(request), actor=actor_of(request), **body
            )
            return 201 if is_news else 200, {
                "version": declared.version,
                "hash_kind": declared.hash_kind,
            }

        return once(request, work)


class RetireToolsetView(ApiView):
    scope = KeyScope.VERIFY
    walled_by_subject = False
    needs_body = False

    @describe(
        "Retire a toolset",
        request=RetireBody,
        answers={200: RetiredAnswerSerializer},
        refusals=(404, 409),
        writes=True,
    )
    def post(self, request: Request, version: str) -> HttpResponse:
        body = read_retirement(request.data)
        access_of(request).demand_app(body.pop("app", None))

        def work() -> tuple[int, dict[str, Any]]:
            try:
                retired = retire_toolset(
                    app=app_of(request), version=version, actor=actor_of(request), **body
                )
            except UnknownToolsetError:
                raise not_found() from None
            return 200, {
                "version": version,
                "hash_kind": retired[0].hash_kind,
                "retired_at": max(toolset.retired_at for toolset in retired if toolset.retired_at),
            }

        return once(request, work)
