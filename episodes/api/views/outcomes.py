from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from episodes.api.idempotency import once
from episodes.api.problem import not_found
from episodes.api.schema import describe
from episodes.api.serializers.outcome import (
    OutcomeAnswerSerializer,
    OutcomeBody,
    read_outcome,
)
from episodes.api.view import ApiView, access_of, actor_of, app_of
from episodes.enums import KeyScope
from episodes.late_outcomes import report_outcome
from episodes.models import Episode


class OutcomesView(ApiView):
    scope = KeyScope.VERIFY
    walled_by_subject = False

    @describe(
        "Say how an episode ended, as a tool that knows",
        request=OutcomeBody,
        answers={201: OutcomeAnswerSerializer},
        refusals=(404, 409, 410),
        writes=True,
    )
    def post(self, request: Request) -> HttpResponse:
        body = read_outcome(request.data)
        access_of(request).demand(user_id=body["user_id"], app=body.pop("app", None))

        def work() -> tuple[int, dict[str, Any]]:
            try:
                entry = report_outcome(app=app_of(request), actor=actor_of(request), **body)
            except Episode.DoesNotExist:
                raise not_found() from None
            head = Episode.objects.get(app_id=entry.app_id, id=entry.episode_id)
            return 201, {
                "entry_id": entry.id,
                "episode_id": head.id,
                "outcome": head.outcome,
                "outcome_source": head.outcome_source,
                "contradicted": head.contradicted,
            }

        return once(request, work, user_ids=[body["user_id"]])
