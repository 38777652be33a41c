from __future__ import annotations

from typing import Any

from rest_framework.request import Request

from episodes.api.limits import refuse_excess
from episodes.api.problem import not_found
from episodes.api.view import ApiView, access_of


class MissingView(ApiView):
    """Every address below /api that is none: a problem, with or without a key."""

    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if request.auth is not None:
            refuse_excess(access_of(request).caller)
        raise not_found()
