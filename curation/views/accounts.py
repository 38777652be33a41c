"""The accounts of the installation, for superusers: who can sign in, and how that ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from curation.access import ConsoleRequest, actor_of, superuser_required
from curation.page import render_page
from curation.reading.accounts import read_accounts
from curation.settings.forms import ReasonForm
from episodes.accounts.second_factor import NotOnError, reset_factor
from episodes.accounts.standing import (
    LastAdminOfError,
    LastSuperuserError,
    NoChangeError,
    deactivate_account,
    delete_account,
    end_sessions,
    reactivate_account,
)


@dataclass(frozen=True, slots=True)
class Act:
    """`told`: what follows, before one decides; `done`: said afterwards, behind the name."""

    do: Callable[..., object]
    label: str
    told: str
    done: str
    is_danger: bool = True


ACTS = {
    "deactivate": Act(
        deactivate_account,
        "Deactivate",
        "They are signed out at once, everywhere, and cannot sign in. Their roles, reviews and "
        "what stands in the audit stay; they can be let in again.",
        "is deactivated and signed out.",
    ),
    "reactivate": Act(
        reactivate_account,
        "Let in again",
        "They can sign in again, with the password and the roles they had.",
        "can sign in again.",
        is_danger=False,
    ),
    "sessions": Act(
        end_sessions,
        "End sessions",
        "They are signed out in every browser, and can sign in again.",
        "is signed out everywhere.",
    ),
    "factor": Act(
        reset_factor,
        "Reset the second factor",
        "For somebody who lost it. Make sure that it is them who asks: the next sign-in takes the "
        "password alone.",
        "has no second factor any more.",
    ),
    "delete": Act(
        delete_account,
        "Delete",
        "The account goes for good, with its roles and sessions. Reviews and audit rows stay under "
        "the name, which nobody else can take.",
        "is deleted.",
    ),
}


@require_safe
@superuser_required
def list_all(request: ConsoleRequest) -> HttpResponse:
    rows, onward = read_accounts(after=request.GET.get("after", "").replace("\0", ""))
    context = {"rows": rows, "older": f"?after={onward}" if onward else ""}
    return render_page(request, "curation/account_list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@superuser_required
def change(request: ConsoleRequest, account_id: int, act: str) -> HttpResponse:
    chosen, account = ACTS.get(act), _account(account_id)
    if chosen is None or account is None:
        raise Http404
    form = ReasonForm(request.POST if request.method == "POST" else None)
    refused = ""
    if form.is_valid():
        name, reason = account.get_username(), form.cleaned_data["reason"]
        try:
            chosen.do(account=account, actor=actor_of(request), reason=reason)
        except (LastSuperuserError, LastAdminOfError, NoChangeError, NotOnError) as error:
            refused = _refusal(error)
        else:
            messages.success(request, f"{name} {chosen.done}")
            return redirect("curation:account-list")
    context = {"account": account, "act": act, "chosen": chosen, "form": form, "refused": refused}
    return render_page(
        request,
        "curation/account_change.html",
        context,
        fragment="question",
        status=422 if form.is_bound else 200,
    )


def _refusal(error: Exception) -> str:
    match error:
        case LastSuperuserError():
            return "This is the last superuser: without them nobody could manage the installation."
        case LastAdminOfError(apps=apps):
            return (
                f"This is the last admin of {', '.join(apps)}. Give somebody else that role first."
            )
        case NotOnError():
            return "There is no second factor on this account."
    return "That is done already."


def _account(account_id: int) -> User | None:
    return User.objects.filter(pk=account_id).first()
