from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from episodes.api.answer import answer
from episodes.api.schema import describe
from episodes.api.serializers.stats import StatsQuery, StatsSerializer, read_stats_query
from episodes.api.view import ApiView, access_of
from episodes.enums import KeyScope
from episodes.stats import count_episodes
from memoryadmin.lib import clock


class StatsView(ApiView):
    scope = KeyScope.READ

    @describe(
        "Counts of the app's episodes, or of one subject's",
        query=StatsQuery,
        answers={200: StatsSerializer},
        refusals=(404,),
    )
    def get(self, request: Request) -> HttpResponse:
        query = read_stats_query(request.GET.dict())
        access = access_of(request)
        # a key that is bound to a subject sees nobody else's numbers
        user_id = query["user_id"] or access.subject
        access.demand_app(query.get("app"))
        if user_id is not None:
            access.demand(user_id=user_id)
        counts = count_episodes(
            app_id=access.caller.app_id,
            cutoffs=access.caller.retention.at(clock.now()),
            user_id=user_id,
        )
        return answer(counts)
