"""Settings: which arguments of which tools are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from curation.access import ConsoleRequest, Right, actor_of, demand, right_required
from curation.page import render_page
from curation.reading.arguments import COUNTED, ArgumentLine, line_of, list_arguments
from curation.settings.forms import RulesForm
from curation.settings.words import RULES
from episodes.applications import (
    NothingChangedError,
    SettingsChangedError,
    change_whitelist,
    whitelist_state,
)
from episodes.ingest.exceptions import InvalidWhitelistError
from episodes.models import App

EMPTY_LINES = 3


@require_safe
@right_required(Right.SEE_SETTINGS)
def go_to_settings(request: ConsoleRequest) -> HttpResponse:
    return redirect("curation:settings-arguments", app_name=request.seat.app.name)


@require_http_methods(["GET", "HEAD", "POST"])
@right_required(Right.SEE_SETTINGS)
def edit_arguments(request: ConsoleRequest) -> HttpResponse:
    if request.method == "POST":
        demand(request, Right.ADMINISTER)
        return _change(request, RulesForm.read(request.POST))
    lines = list_arguments(member=request.seat.member)
    return _render(request, [_Line(line, line.rule, is_fixed=True) for line in lines])


def _change(request: ConsoleRequest, form: RulesForm) -> HttpResponse:
    app = request.seat.app
    if not form.is_valid():
        return _again(request, form, status=422)
    try:
        change_whitelist(app=app, rules=form.rules, seen=form.seen, actor=actor_of(request))
    except InvalidWhitelistError as error:
        form.errors.append(str(error))
        return _again(request, form, status=422)
    except SettingsChangedError:
        form.errors.append(
            "Somebody else changed the rules while you did. The column Now shows how they are; "
            "save again to replace them."
        )
        return _again(request, form, status=409)
    except NothingChangedError:
        messages.info(request, "The rules are what they were.")
    else:
        messages.success(request, "Saved. The rules hold for sessions that come in from now on.")
    return redirect("curation:settings-arguments", app_name=app.name)


def _again(request: ConsoleRequest, form: RulesForm, *, status: int) -> HttpResponse:
    """Show what was typed, beside the rules as they are now; a new line can be typed on."""
    app = App.objects.get(pk=request.seat.app.pk)
    request.seat.member.app = app
    known = {
        (line.tool, line.argument): line for line in list_arguments(member=request.seat.member)
    }
    lines = []
    for row in form.rows:
        line = known.pop((row.tool, row.argument), None)
        shown = line or line_of(app, row.tool, row.argument)
        lines.append(_Line(shown, row.rule, is_fixed=line is not None))
    return _render(request, lines, errors=form.errors, status=status)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the editor; `chosen`: the rule in its field. One that is fixed has its names."""

    shown: ArgumentLine
    chosen: str
    is_fixed: bool


def _render(
    request: ConsoleRequest,
    lines: Sequence[_Line],
    *,
    errors: Sequence[str] = (),
    status: int = 200,
) -> HttpResponse:
    context = {
        "tab": "arguments",
        "lines": lines,
        "empty_lines": range(EMPTY_LINES),
        "errors": errors,
        "rules": RULES,
        "counted": COUNTED,
        "seen": whitelist_state(request.seat.app),
        "may_administer": request.seat.may(Right.ADMINISTER),
    }
    return render_page(request, "curation/settings_arguments.html", context, status=status)
