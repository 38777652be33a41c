from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from episodes.api.answer import answer
from episodes.api.fields import ID_LENGTH
from episodes.api.idempotency import once
from episodes.api.problem import not_found
from episodes.api.schema import describe
from episodes.api.serializers.erasure import (
    ErasureBody,
    ErasureSerializer,
    RequestedSerializer,
    read_erasure,
)
from episodes.api.view import ApiView, access_of, actor_of, app_of
from episodes.enums import KeyScope
from episodes.erasure.request import request_erasure
from episodes.models import Erasure
from episodes.tombstones import subject_hash
from memoryadmin.lib.erasable import stores


class ErasuresView(ApiView):
    scope = KeyScope.ERASE
    walled_by_subject = False

    @describe(
        "Erase a subject",
        request=ErasureBody,
        answers={202: RequestedSerializer},
        refusals=(404, 409),
        writes=True,
    )
    def post(self, request: Request) -> HttpResponse:
        body = read_erasure(request.data)
        access_of(request).demand(user_id=body["user_id"], app=body.pop("app", None))
        return _requested(request, **body)


class UserView(ApiView):
    scope = KeyScope.ERASE
    walled_by_subject = False

    @describe(
        "Erase a subject whose id fits a path",
        answers={202: RequestedSerializer},
        refusals=(404, 409),
        writes=True,
    )
    def delete(self, request: Request, user_id: str) -> HttpResponse:
        if len(user_id) > ID_LENGTH:
            raise not_found()
        access_of(request).demand(user_id=user_id)
        return _requested(request, user_id=user_id, reason="")


class ErasureView(ApiView):
    scope = KeyScope.ERASE

    @describe(
        "How far an erasure is, and its certificate",
        answers={200: ErasureSerializer},
        refusals=(404,),
    )
    def get(self, request: Request, erasure_id: UUID) -> HttpResponse:
        access = access_of(request)
        app_id = access.caller.app_id
        found = Erasure.objects.filter(app_id=app_id, pk=erasure_id).first()
        if found is None or (
            access.subject is not None
            and subject_hash(app_id=app_id, user_id=access.subject) != bytes(found.subject_hash)
        ):
            raise not_found()
        return answer(
            {
                "erasure_id": found.pk,
                "status": found.status,
                "requested_at": found.requested_at,
                "started_at": found.started_at,
                "verified_at": found.verified_at,
                "physically_cleared_at": found.physically_cleared_at,
                # every store, also those that held nothing
                "counts": {store.name: found.counts.get(store.name, 0) for store in stores()},
                "total": found.total,
                "found": found.found,
                "certificate": found.certificate,
                "clearance": found.clearance,
            }
        )


def _requested(request: Request, *, user_id: str, reason: str) -> HttpResponse:
    app_id = access_of(request).caller.app_id
    # what is kept of the request outlives the subject: a keyed hash, and no digest of its id
    asked = subject_hash(app_id=app_id, user_id=f"{user_id}\0{reason}").hex()

    def work() -> tuple[int, dict[str, Any]]:
        erasure = request_erasure(
            app=app_of(request), user_id=user_id, reason=reason, actor=actor_of(request)
        )
        return 202, {"erasure_id": erasure.pk, "status": erasure.status}

    return once(request, work, known_as=["erasure", asked])
