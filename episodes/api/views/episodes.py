from __future__ import annotations

from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

from episodes.api.answer import answer
from episodes.api.problem import not_found
from episodes.api.schema import describe
from episodes.api.serializers.episode import EpisodeQuery, EpisodeSerializer, read_episode_query
from episodes.api.serializers.served_to import (
    ServedToQuery,
    ServedToSerializer,
    read_served_to_query,
)
from episodes.api.view import ApiView, access_of, actor_of, app_of
from episodes.enums import KeyScope
from episodes.served_to import Asked, SubjectMissingError, read_served
from episodes.trace import read_trace
from memoryadmin.lib import clock
from memoryadmin.lib.cursors import Cursor


class EpisodeView(ApiView):
    scope = KeyScope.READ

    @describe(
        "One episode: its trace, what was said about its outcome, its revisions",
        query=EpisodeQuery,
        answers={200: EpisodeSerializer},
        refusals=(404,),
    )
    def get(self, request: Request, episode_id: UUID) -> HttpResponse:
        query = read_episode_query(request.GET.dict())
        access = access_of(request)
        access.demand_app(query.get("app"))
        if query["user_id"] is not None:
            access.demand(user_id=query["user_id"])
        trace = read_trace(
            app_id=access.caller.app_id,
            episode_id=episode_id,
            cutoffs=access.caller.retention.at(clock.now()),
            user_id=query["user_id"] or access.subject,
        )
        if trace is None:
            raise not_found()
        return answer(trace)


class EpisodeRecallsView(ApiView):
    scope = KeyScope.READ

    @describe(
        "Where one episode was recalled, as it was served then, and how far that reached",
        query=ServedToQuery,
        answers={200: ServedToSerializer},
        refusals=(404,),
    )
    def get(self, request: Request, episode_id: UUID) -> HttpResponse:
        query = read_served_to_query(request.GET.dict())
        access = access_of(request)
        access.demand_app(query.get("app"))
        if query["user_id"] is not None:
            access.demand(user_id=query["user_id"])
        asked = Asked(
            user_id=query["user_id"],
            bound_to=access.subject,
            may_read_all=access.caller.may(KeyScope.READ_ALL),
            cursor=query["cursor"],
            size=query["limit"],
        )
        try:
            found = read_served(
                app=app_of(request), episode_id=episode_id, asked=asked, actor=actor_of(request)
            )
        except SubjectMissingError:
            raise PermissionDenied from None
        if found is None:
            raise not_found()
        body, following = found
        return answer({"next": _next(request, following), **body})


def _next(request: Request, following: Cursor | None) -> str | None:
    if following is None:
        return None
    asked = {**request.GET.dict(), "cursor": str(following)}
    return request.build_absolute_uri(f"{request.path}?{urlencode(asked)}")
