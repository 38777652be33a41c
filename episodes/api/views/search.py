from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from episodes import recall
from episodes.addresses import client_address, hashed_address
from episodes.api.answer import answer
from episodes.api.route import route_of
from episodes.api.schema import describe
from episodes.api.serializers.search import SearchAnswerSerializer, SearchBody, read_search
from episodes.api.view import ApiView, access_of, demand_scope, request_id
from episodes.enums import KeyScope


class SearchView(ApiView):
    scope = KeyScope.SEARCH

    @describe(
        "Find precedent for a task",
        request=SearchBody,
        answers={200: SearchAnswerSerializer},
        refusals=(404, 413),
    )
    def post(self, request: Request) -> HttpResponse:
        search, app_name = read_search(request.data)
        access = access_of(request)
        if search.dry_run or search.include_failures:
            demand_scope(request, KeyScope.READ)
        access.demand(user_id=search.user_id, app=app_name)
        return answer(
            recall.search(
                caller=access.caller,
                request=search,
                request_id=request_id(request),
                route=route_of(request),
                address_hash=hashed_address(client_address(request.META)),
            )
        )
