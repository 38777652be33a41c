from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpResponse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from curation import words
from curation.access import ConsoleRequest, Right, right_required
from curation.drawing import charts
from curation.page import render_page
from curation.reading.overview import PERIODS, Day, read_overview
from episodes.enums import Outcome

# From the bottom of a bar: what is known first, what nobody knows on top.
_STACK = (
    Outcome.SUCCESS,
    Outcome.PARTIAL,
    Outcome.FAILURE,
    Outcome.ESCALATED,
    Outcome.ABANDONED,
    Outcome.UNKNOWN,
)


@require_safe
@right_required(Right.READ)
def show_overview(request: ConsoleRequest) -> HttpResponse:
    asked = request.GET.get("days", "")
    days = int(asked) if asked in {str(one) for one in PERIODS} else PERIODS[1]
    overview = read_overview(member=request.seat.member, days=days)
    context = {
        "overview": overview,
        "days": days,
        "periods": PERIODS,
        "chart": _chart(overview.days),
        "stack": [(name, words.OUTCOMES[name]) for name in _STACK],
        "may_see_recalls": request.seat.may(Right.SEE_RECALLS),
    }
    return render_page(request, "curation/overview.html", context)


def _chart(days: Sequence[Day]) -> SafeString:
    columns = [
        charts.Column(
            label=f"{day.on.day} {day.on:%b}",
            title=_title(day),
            parts=[(name.value, day.counts[name]) for name in _STACK],
        )
        for day in days
    ]
    return charts.stacked_columns(
        columns, name="Completed episodes per day by outcome; the table below has the figures"
    )


def _title(day: Day) -> str:
    parts = [
        f"{words.OUTCOMES[name].label.lower()} {day.counts[name]}"
        for name in _STACK
        if day.counts[name]
    ]
    return f"{day.on:%a} {day.on.day} {day.on:%b}: {', '.join(parts) or 'none'}"
