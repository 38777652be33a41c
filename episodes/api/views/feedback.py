from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from episodes.api.idempotency import REPLAYED, once
from episodes.api.schema import describe
from episodes.api.serializers.feedback import (
    FeedbackAnswerSerializer,
    FeedbackBody,
    read_feedback,
)
from episodes.api.view import ApiView, access_of, actor_of, app_of
from episodes.enums import KeyScope
from episodes.feedback import record_feedback


class FeedbackView(ApiView):
    scope = KeyScope.FEEDBACK
    walled_by_subject = False

    @describe(
        "Report what a user said about a session",
        request=FeedbackBody,
        answers={201: FeedbackAnswerSerializer},
        refusals=(404, 409, 410),
        writes=True,
    )
    def post(self, request: Request) -> HttpResponse:
        body = read_feedback(request.data)
        access_of(request).demand(user_id=body["user_id"], app=body.pop("app", None))
        repeated = False

        def work() -> tuple[int, dict[str, Any]]:
            nonlocal repeated
            stored, is_new = record_feedback(app=app_of(request), actor=actor_of(request), **body)
            repeated = not is_new
            return 201, {
                "id": stored.id,
                "feedback_id": stored.feedback_id,
                "rating": stored.rating,
                "received_at": stored.received_at,
            }

        response = once(request, work, user_ids=[body["user_id"]])
        if repeated:
            response[REPLAYED] = "true"
        return response
