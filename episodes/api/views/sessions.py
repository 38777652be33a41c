from __future__ import annotations

import logging
from typing import Any

import orjson
from django.conf import settings
from django.http import HttpResponse
from rest_framework.request import Request

from episodes.api.answer import answer
from episodes.api.idempotency import once
from episodes.api.parsing import BatchParser, too_large
from episodes.api.problem import not_found, refusal_of
from episodes.api.schema import describe
from episodes.api.serializers.session import (
    BatchAnswerSerializer,
    BatchBody,
    SessionAnswerSerializer,
    SessionBody,
    SessionStatusQuery,
    read_items,
    read_session,
    read_status_query,
    subjects_of,
)
from episodes.api.view import ApiView, access_of, actor_of, app_of
from episodes.audit import Actor
from episodes.enums import IndexState, KeyScope
from episodes.ingest.store import SessionAnswer, session_status, write_session
from episodes.models import App

_log = logging.getLogger(__name__)


class SessionsView(ApiView):
    scope = KeyScope.INGEST
    walled_by_subject = False

    @describe(
        "Write a finished or checkpointed session",
        request=SessionBody,
        answers={201: SessionAnswerSerializer, 200: SessionAnswerSerializer},
        refusals=(404, 409, 410, 413),
        writes=True,
    )
    def post(self, request: Request) -> HttpResponse:
        write, app_name = read_session(request.data)
        access = access_of(request)
        access.demand(user_id=write.user_id, app=app_name)

        def work() -> tuple[int, dict[str, Any]]:
            written = write_session(
                app=app_of(request),
                write=write,
                actor=actor_of(request),
                may_verify=access.caller.may(KeyScope.VERIFY),
                may_give_feedback=access.caller.may(KeyScope.FEEDBACK),
            )
            return 201 if written.status == "created" else 200, told(written)

        return once(request, work, user_ids=[write.user_id])


class SessionStatusView(ApiView):
    scope = KeyScope.INGEST

    @describe(
        "What is stored of a session",
        query=SessionStatusQuery,
        answers={200: SessionAnswerSerializer},
        refusals=(404,),
    )
    def get(self, request: Request) -> HttpResponse:
        query = read_status_query(request.GET.dict())
        access_of(request).demand(user_id=query["user_id"], app=query.pop("app", None))
        stored = session_status(app_id=access_of(request).caller.app_id, **query)
        if stored is None:
            raise not_found()
        return answer(told(stored))


class BatchView(ApiView):
    scope = KeyScope.INGEST
    walled_by_subject = False
    parser_classes = [BatchParser]

    @describe(
        "Write up to 100 sessions; one bad item never sinks the rest",
        request=BatchBody,
        answers={200: BatchAnswerSerializer},
        refusals=(413,),
        writes=True,
    )
    def post(self, request: Request) -> HttpResponse:
        items = read_items(request.data)

        def work() -> tuple[int, dict[str, Any]]:
            app, actor = app_of(request), actor_of(request)
            results = [
                self._write(request, item, app=app, actor=actor, pointer=f"/items/{number}")
                for number, item in enumerate(items)
            ]
            return 200, {"results": results}

        # each item is a transaction of its own, and writing one again changes nothing
        return once(request, work, user_ids=subjects_of(items), in_one=False)

    def _write(
        self, request: Request, item: object, *, app: App, actor: Actor, pointer: str
    ) -> dict[str, Any]:
        access = access_of(request)
        try:
            self._refuse_oversize(request, item)
            write, app_name = read_session(item)
            access.demand(user_id=write.user_id, app=app_name)
            written = write_session(
                app=app,
                write=write,
                actor=actor,
                may_verify=access.caller.may(KeyScope.VERIFY),
                may_give_feedback=access.caller.may(KeyScope.FEEDBACK),
            )
            return told(written)
        except Exception as error:
            refusals = refusal_of(error, request)
            if refusals is None:
                raise
            return {
                "status": "rejected",
                "errors": [
                    refusal | {"pointer": pointer + refusal["pointer"]} for refusal in refusals
                ],
            }

    def _refuse_oversize(self, request: Request, item: object) -> None:
        """Hold each item to the limit of one session; a small batch holds no large item."""
        declared = int(request.META.get("CONTENT_LENGTH") or 0)
        is_large = declared > settings.SESSION_MAX_BYTES
        if is_large and len(orjson.dumps(item)) > settings.SESSION_MAX_BYTES:
            raise too_large(settings.SESSION_MAX_BYTES)


def told(written: SessionAnswer) -> dict[str, Any]:
    """Return the answer of POST /sessions; what is not known of it is left out."""
    body: dict[str, Any] = {
        "status": written.status,
        "reason": written.reason,
        "episode_id": written.episode_id,
        "revision": written.revision,
        # of what is ignored nothing waits for a vector
        "index_state": written.index_state or IndexState.READY,
        "dropped_arguments": written.dropped_arguments,
        "stripped": dict(written.stripped) or None,
        "outcome": written.outcome,
        "outcome_source": written.outcome_source,
    }
    always = {"dropped_arguments", "outcome", "outcome_source"}
    return {name: value for name, value in body.items() if value is not None or name in always}
