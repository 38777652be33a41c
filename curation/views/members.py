"""Settings: who belongs to the app, and as what."""

from __future__ import annotations

from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from curation import words
from curation.access import ConsoleRequest, Right, actor_of, demand, right_required
from curation.page import render_page
from curation.settings.forms import MemberForm, RoleForm
from curation.settings.words import ROLE_HINTS
from curation.signing_in.forms import InvitationForm
from episodes.accounts.invitations import (
    InvitationOverError,
    invite_person,
    revoke_invitation,
)
from episodes.enums import Role
from episodes.members import (
    AlreadyMemberError,
    LastAdminError,
    add_member,
    change_role,
    remove_member,
)
from episodes.models import Invitation, Member
from memoryadmin.lib import clock

_LAST_ADMIN = "This is the last admin: without them nobody could manage the app."


@require_http_methods(["GET", "HEAD", "POST"])
@right_required(Right.SEE_SETTINGS)
def edit_members(request: ConsoleRequest) -> HttpResponse:
    if request.method != "POST":
        return _render(request, MemberForm())
    demand(request, Right.ADMINISTER)
    form = MemberForm(request.POST)
    if not form.is_valid():
        return _render(request, form, status=422)
    user, role = form.cleaned_data["user_name"], form.cleaned_data["role"]
    try:
        add_member(app=request.seat.app, user=user, role=role, actor=actor_of(request))
    except AlreadyMemberError:
        form.add_error("user_name", f"{user.get_username()} is a member already.")
        return _render(request, form, status=422)
    messages.success(request, f"{user.get_username()} is a member now.")
    return _back(request)


@require_http_methods(["GET", "HEAD", "POST"])
@right_required(Right.ADMINISTER)
def invite(request: ConsoleRequest) -> HttpResponse:
    """The answer to the POST is the only time that the link is shown."""
    if request.method != "POST":
        return redirect("curation:settings-members", app_name=request.seat.app.name)
    form = InvitationForm(request.POST, auto_id="id_invited_%s")
    if not form.is_valid():
        return _render(request, MemberForm(), status=422, invitation=form)
    made, token = invite_person(
        app=request.seat.app,
        name=form.cleaned_data["name"],
        email=form.cleaned_data["email"],
        role=form.cleaned_data["role"],
        actor=actor_of(request),
    )
    link = request.build_absolute_uri(reverse("curation:invitation", kwargs={"token": token}))
    return _render(request, MemberForm(), made=made, link=link)


@require_POST
@right_required(Right.ADMINISTER)
def revoke(request: ConsoleRequest, invitation_id: UUID) -> HttpResponse:
    try:
        found = revoke_invitation(
            app=request.seat.app, invitation_id=invitation_id, actor=actor_of(request)
        )
    except InvitationOverError:
        raise Http404 from None
    messages.success(request, f"The invitation of {found.name} is revoked.")
    return _back(request)


@require_POST
@right_required(Right.ADMINISTER)
def set_role(request: ConsoleRequest, member_id: int) -> HttpResponse:
    member = _member(request, member_id)
    form = RoleForm(request.POST)
    if not form.is_valid():
        return _render(request, MemberForm(), status=422)
    role = form.cleaned_data["role"]
    try:
        change_role(member=member, role=role, actor=actor_of(request))
    except LastAdminError:
        return _render(request, MemberForm(), status=422, refused=member)
    messages.success(
        request, f"{member.user.get_username()} is {words.ROLES[Role(role)].lower()} now."
    )
    return _back(request)


@require_http_methods(["GET", "HEAD", "POST"])
@right_required(Right.ADMINISTER)
def remove(request: ConsoleRequest, member_id: int) -> HttpResponse:
    member = _member(request, member_id)
    context: dict[str, object] = {"member": member, "tab": "members", "may_administer": True}
    if request.method == "POST":
        try:
            remove_member(member=member, actor=actor_of(request))
        except LastAdminError:
            context["refused"] = _LAST_ADMIN
        else:
            messages.success(request, f"{member.user.get_username()} is no member any more.")
            return _back(request)
    return render_page(
        request,
        "curation/settings_member_remove.html",
        context,
        fragment="question",
        status=422 if "refused" in context else 200,
    )


def _member(request: ConsoleRequest, member_id: int) -> Member:
    members = Member.objects.filter(app=request.seat.app).select_related("user", "app")
    found = members.filter(pk=member_id).first()
    if found is None:
        raise Http404
    return found


def _back(request: ConsoleRequest) -> HttpResponse:
    """Who gave up their own seat has no way back to the list."""
    seat = Member.objects.filter(app=request.seat.app, user=request.user).first()
    if request.user.is_superuser or (seat is not None and seat.role == Role.ADMIN):
        return redirect("curation:settings-members", app_name=request.seat.app.name)
    return redirect("curation:home")


def _render(
    request: ConsoleRequest,
    form: forms.Form,
    *,
    status: int = 200,
    refused: Member | None = None,
    invitation: InvitationForm | None = None,
    made: Invitation | None = None,
    link: str = "",
) -> HttpResponse:
    waiting = Invitation.objects.filter(
        app=request.seat.app,
        accepted_at__isnull=True,
        revoked_at__isnull=True,
        expires_at__gt=clock.now(),
    )
    context = {
        "tab": "members",
        "form": form,
        "invitation": invitation or InvitationForm(auto_id="id_invited_%s"),
        "invitations": waiting.order_by("-made_at"),
        "made": made,
        "link": link,
        "members": Member.objects.filter(app=request.seat.app)
        .select_related("user")
        .order_by("user__username"),
        "roles": [(role, words.ROLES[role], ROLE_HINTS[role]) for role in Role],
        "refused": refused,
        "last_admin": _LAST_ADMIN,
        "may_administer": request.seat.may(Right.ADMINISTER),
    }
    return render_page(request, "curation/settings_members.html", context, status=status)
