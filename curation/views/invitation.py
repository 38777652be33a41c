"""The link of an invitation: whoever opens it takes the seat, with a new account or their own."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods

from curation import words
from curation.access import actor_named
from curation.page import render_page
from curation.settings.words import ROLE_HINTS
from curation.signing_in.forms import JoinForm
from curation.views.sign_in import enter
from episodes.accounts import AccountExistsError, BadAccountNameError, WeakPasswordError
from episodes.accounts.invitations import (
    InvitationOverError,
    accept_as_known,
    accept_as_new,
    open_invitation,
)
from episodes.enums import Role, SignInMethod
from episodes.members import AlreadyMemberError
from episodes.models import Invitation


@sensitive_variables("token")
@sensitive_post_parameters("new", "again")
@require_http_methods(["GET", "HEAD", "POST"])
def accept(request: HttpRequest, token: str) -> HttpResponse:
    try:
        invitation = open_invitation(token)
        if request.method != "POST":
            return _render(request, invitation, JoinForm(initial={"name": invitation.name}))
        if request.user.is_authenticated:
            return _as_known(request, invitation, token)
        return _as_new(request, invitation, token)
    except InvitationOverError:
        return render_page(request, "curation/invitation_over.html", status=404)


def _as_known(request: HttpRequest, invitation: Invitation, token: str) -> HttpResponse:
    assert request.user.is_authenticated  # noqa: S101  (the caller's check, for the types)
    name = request.user.get_username()
    try:
        accept_as_known(token=token, account=request.user, actor=actor_named(request, name))
    except AlreadyMemberError:
        refused = f"{name} is a member of {invitation.app.name} already."
        return _render(request, invitation, JoinForm(), status=422, refused=refused)
    messages.success(request, f"You are a member of {invitation.app.name} now.")
    return redirect("curation:overview", app_name=invitation.app.name)


def _as_new(request: HttpRequest, invitation: Invitation, token: str) -> HttpResponse:
    form = JoinForm(request.POST)
    if not settings.PASSWORD_SIGN_IN:
        return _render(request, invitation, form, status=403)
    if not form.is_valid():
        return _render(request, invitation, form, status=422)
    try:
        account = accept_as_new(
            token=token,
            name=form.cleaned_data["name"],
            password=form.cleaned_data["new"],
            actor=actor_named(request, form.cleaned_data["name"]),
        )
    except BadAccountNameError as error:
        form.add_error("name", str(error))
    except AccountExistsError:
        form.add_error("name", "There is an account of that name. If it is yours, sign in first.")
    except WeakPasswordError as error:
        form.add_error("new", str(error))
    else:
        onward = f"/apps/{invitation.app.name}/"
        return enter(request, account, SignInMethod.PASSWORD, onward, with_factor=False)
    return _render(request, invitation, form, status=422)


def _render(
    request: HttpRequest,
    invitation: Invitation,
    form: JoinForm,
    *,
    status: int = 200,
    refused: str = "",
) -> HttpResponse:
    role = Role(invitation.role)
    context = {
        "invitation": invitation,
        "form": form,
        "role": words.ROLES[role],
        "role_hint": ROLE_HINTS[role],
        "by_password": settings.PASSWORD_SIGN_IN,
        "refused": refused,
    }
    return render_page(request, "curation/invitation.html", context, status=status)
