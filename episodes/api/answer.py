from __future__ import annotations

from typing import Any

import orjson
from django.http import HttpResponse

from episodes.json_output import encode


def answer(body: Any, status: int = 200) -> HttpResponse:
    """Return a JSON answer: ids as text, times in UTC with `Z`."""
    written = encode(body, option=orjson.OPT_UTC_Z)
    return HttpResponse(written, status=status, content_type="application/json")
