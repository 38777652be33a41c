"""Settings: how long episodes, the recall log and feedback are kept, what would go, and what went."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from curation.access import ConsoleRequest, Right, actor_of, demand, right_required
from curation.page import render_page
from curation.settings.retention_form import COLUMNS, RetentionForm
from curation.words import OUTCOMES, REVIEWS
from episodes.enums import Scope
from episodes.models import App, RetentionRun
from episodes.retention.policies import (
    MOST_POLICIES,
    PolicyEndsNothingError,
    RetentionChangedError,
    TooManyPoliciesError,
    read_retention,
    set_retention,
)
from episodes.retention.preview import Preview, preview_sweep

EMPTY_LINES = 2
RUNS = 20
SCOPES = {Scope.USER: "Subject's own", Scope.ORG: "Organisation's"}
STORES = {
    "episodes_recall": "recalls",
    "episodes_recallhit": "hits of recalls",
    "episodes_feedback": "feedback",
}


@require_http_methods(["GET", "HEAD", "POST"])
@right_required(Right.SEE_SETTINGS)
def edit_retention(request: ConsoleRequest) -> HttpResponse:
    app = request.seat.app
    if request.method == "POST":
        demand(request, Right.ADMINISTER)
        return _change(request, RetentionForm.read(request.POST))
    form = RetentionForm.of(read_retention(app), seen=app.retention_version)
    preview = preview_sweep(app=app) if "due" in request.GET else None
    return _render(request, form, preview=preview)


def _change(request: ConsoleRequest, form: RetentionForm) -> HttpResponse:
    app = request.seat.app
    if form.wanted is None or not form.is_valid():
        return _render(request, form, status=422)
    if request.POST.get("act") != "save":
        return _render(request, form, preview=preview_sweep(app=app, wanted=form.wanted))
    try:
        set_retention(
            app=app,
            wanted=form.wanted,
            seen=form.seen,
            reason=form.reason,
            actor=actor_of(request),
        )
    except RetentionChangedError:
        current = App.objects.get(pk=app.pk)
        form.seen = current.retention_version
        form.errors.append(
            "Nothing was changed: somebody changed the retention while you did. It is now: "
            f"{_in_words(current)}. Save again to replace it."
        )
        return _render(request, form, status=409)
    except TooManyPoliciesError:
        form.errors.append(f"There are at most {MOST_POLICIES} policies.")
        return _render(request, form, status=422)
    except PolicyEndsNothingError as error:
        form.errors.append(f"{error}: say when its episodes expire.")
        return _render(request, form, status=422)
    messages.success(request, "Saved. Every read goes by it from now on.")
    return redirect("curation:settings-retention", app_name=app.name)


def _in_words(app: App) -> str:
    wanted = read_retention(app)
    names = ", ".join(one.name for one in wanted.policies) or "no policy"
    return f"{wanted.days} days; {names}"


def _render(
    request: ConsoleRequest,
    form: RetentionForm,
    *,
    preview: Preview | None = None,
    status: int = 200,
) -> HttpResponse:
    may_administer = request.seat.may(Right.ADMINISTER)
    empty = [dict.fromkeys(COLUMNS, "")] * (EMPTY_LINES if may_administer else 0)
    context = {
        "tab": "retention",
        "form": form,
        "rows": [*form.rows, *empty],
        "preview": preview,
        "log": [(STORES.get(table, table), n) for table, n in preview.log.items()]
        if preview
        else [],
        "runs": RetentionRun.objects.filter(app=request.seat.app).order_by("-started_at", "-id")[
            :RUNS
        ],
        "outcomes": OUTCOMES,
        "reviews": REVIEWS,
        "scopes": SCOPES,
        "may_administer": may_administer,
    }
    return render_page(request, "curation/settings_retention.html", context, status=status)
