from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from episodes.api.answer import answer
from episodes.api.problem import not_found
from episodes.api.schema import describe
from episodes.api.serializers.episode import EpisodeSerializer
from episodes.api.view import ApiView, access_of
from episodes.enums import KeyScope
from episodes.trace import read_trace
from memoryadmin.lib import clock


class EpisodeView(ApiView):
    scope = KeyScope.READ

    @describe(
        "One episode: its trace, what was said about its outcome, its revisions",
        answers={200: EpisodeSerializer},
        refusals=(404,),
    )
    def get(self, request: Request, episode_id: UUID) -> HttpResponse:
        access = access_of(request)
        trace = read_trace(
            app_id=access.caller.app_id,
            episode_id=episode_id,
            cutoffs=access.caller.retention.at(clock.now()),
            user_id=access.subject,
        )
        if trace is None:
            raise not_found()
        return answer(trace)
