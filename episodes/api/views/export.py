from __future__ import annotations

import re
from dataclasses import replace
from typing import cast

from django.http import QueryDict, StreamingHttpResponse
from rest_framework.request import Request

from episodes.api.problem import Problem
from episodes.api.schema import describe
from episodes.api.serializers.export import (
    ExportLineSerializer,
    ExportQuery,
    read_export_query,
)
from episodes.api.view import ApiView, access_of, actor_of, app_of
from episodes.enums import KeyScope
from episodes.export.places import NoPlaceError
from episodes.export.run import Gzipped, begin_export

CONTENT_TYPE = "application/x-ndjson"
RETRY_AFTER = 60  # seconds
_GZIP = re.compile(r"(?:^|,)\s*gzip\s*(?:;\s*q=(?P<q>[01](?:\.\d{0,3})?)\s*)?(?:,|$)", re.I)


class ExportView(ApiView):
    scope = KeyScope.READ_ALL
    http_method_names = ["get"]  # a HEAD would be recorded as an export

    @describe(
        "The app's episodes, or one subject's, line by line, to be taken in again",
        query=ExportQuery,
        answers={200: ExportLineSerializer},
        media_type=CONTENT_TYPE,
        refusals=(404,),
        headers={
            "X-Export-Id": "What the audit calls it.",
            "Content-Encoding": "`gzip`, if that is accepted.",
        },
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        wanted, cursor, app_name = read_export_query(cast(QueryDict, request.GET))
        access = access_of(request)
        access.demand_app(app_name)
        # a key that is bound to a subject takes nobody else's along
        wanted = replace(wanted, user_id=wanted.user_id or access.subject)
        if wanted.user_id is not None:
            access.demand(user_id=wanted.user_id)
        try:
            export = begin_export(
                app=app_of(request), wanted=wanted, cursor=cursor, actor=actor_of(request)
            )
        except NoPlaceError:
            raise Problem(
                429, "exports_busy", "Enough exports are under way.", retry_after=RETRY_AFTER
            ) from None
        export.read_ahead()
        packed = accepts_gzip(request.META.get("HTTP_ACCEPT_ENCODING", ""))
        response = StreamingHttpResponse(
            Gzipped(export) if packed else export, content_type=CONTENT_TYPE
        )
        if packed:
            response["Content-Encoding"] = "gzip"
        response["Vary"] = "Accept-Encoding"
        response["X-Export-Id"] = str(export.id)
        return response


def accepts_gzip(accepted: str) -> bool:
    found = _GZIP.search(accepted)
    return found is not None and float(found["q"] or 1) > 0
