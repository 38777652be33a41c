"""Who may do what in the console: one table of rights by role, and the guard that reads it.

An app that a person has no seat in answers 404, like one that does not exist; a right that their
role lacks answers 403.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from typing import Any, Concatenate

from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails

from episodes.accounts.second_factor import is_demanded
from episodes.accounts.signing_in import FACTOR, METHOD
from episodes.addresses import client_address, hashed_address
from episodes.audit import Actor
from episodes.enums import ActorKind, Role, SignInMethod
from episodes.models import App, Member
from memoryadmin.lib import ids


class Right(StrEnum):
    READ = "read episodes and measures"
    DECIDE = "claim episodes and decide how they ended"
    CURATE = "settle, flag, lift, promote and approve"
    SEE_REACH = "see which sessions were given an episode"
    SEE_RECALLS = "read the recall log"
    SEE_AUDIT = "read the audit"
    SEE_INCIDENTS = "read incidents"
    SEE_ERASURES = "read erasures and their certificates"
    INVESTIGATE = "open incidents, set holds and erase"
    EXPORT = "take episodes along as a file"
    SEE_SETTINGS = "read keys, settings and members"
    ADMINISTER = "manage keys, settings and members"


# Each role can do what stands beside it and nothing that stands beside another (product.md §1).
# What was done to a key stands on the key's page: those who read settings see its acts without
# SEE_AUDIT and unrecorded, because looking after keys needs it and no subject's text is among them.
RIGHTS: dict[Role, frozenset[Right]] = {
    Role.VIEWER: frozenset({Right.READ}),
    Role.REVIEWER: frozenset({Right.READ, Right.DECIDE}),
    Role.CURATOR: frozenset({Right.READ, Right.DECIDE, Right.CURATE, Right.SEE_REACH}),
    Role.COMPLIANCE: frozenset(
        {
            Right.READ,
            Right.SEE_REACH,
            Right.SEE_RECALLS,
            Right.SEE_AUDIT,
            Right.SEE_SETTINGS,
            Right.SEE_INCIDENTS,
            Right.SEE_ERASURES,
            Right.INVESTIGATE,
            Right.EXPORT,
        }
    ),
    Role.ADMIN: frozenset({Right.READ, Right.SEE_ERASURES, Right.SEE_SETTINGS, Right.ADMINISTER}),
}
# A superuser looks after the installation: sees all of it and manages it, but judges no episode
# without a role of their own, so that a second person stays a second person.
SUPERUSER = frozenset(
    {
        Right.READ,
        Right.SEE_REACH,
        Right.SEE_RECALLS,
        Right.SEE_AUDIT,
        Right.SEE_INCIDENTS,
        Right.SEE_ERASURES,
        Right.EXPORT,
        Right.SEE_SETTINGS,
        Right.ADMINISTER,
    }
)


@dataclass(frozen=True, slots=True)
class Seat:
    """A person's place in one app. A superuser without a role has an unsaved member."""

    user: User
    member: Member
    rights: frozenset[Right]

    @property
    def app(self) -> App:
        return self.member.app

    @property
    def role(self) -> str:
        return self.member.role or "superuser"

    def may(self, right: Right) -> bool:
        return right in self.rights


class ConsoleRequest(HttpRequest):
    """A request of somebody who is signed in; `seat` on pages of an app."""

    user: User
    htmx: HtmxDetails
    seats: list[Seat]
    seat: Seat


class MissingRightError(PermissionDenied):
    """The person's role in this app does not include what the page needs."""

    def __init__(self, right: Right) -> None:
        super().__init__(right)
        self.right = right

    def roles(self) -> list[Role]:
        """Return the roles that do include it."""
        return [role for role in Role if self.right in RIGHTS[role]]


def seats_of(user: User) -> list[Seat]:
    """Return a person's seats by the name of the app: one query, for a superuser two."""
    members = {
        member.app_id: member for member in Member.objects.filter(user=user).select_related("app")
    }
    if user.is_superuser:
        for app in App.objects.all():
            members.setdefault(app.id, Member(app=app, user=user, role=""))
    return sorted(
        (Seat(user, member, _rights(user, member)) for member in members.values()),
        key=lambda seat: seat.app.name,
    )


def _rights(user: User, member: Member) -> frozenset[Right]:
    of_role: frozenset[Right] = RIGHTS[Role(member.role)] if member.role else frozenset()
    return of_role | SUPERUSER if user.is_superuser else of_role


def signed_in_required(
    view: Callable[Concatenate[ConsoleRequest, ...], HttpResponseBase],
) -> Callable[..., HttpResponseBase]:
    """Ask strangers to sign in, whole page even when a fragment was wanted."""

    @wraps(view)
    def guarded(request: ConsoleRequest, /, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            back = request.get_full_path()
            if request.htmx:
                back = request.htmx.current_url_abs_path or "/"
            to_sign_in = redirect_to_login(back, reverse("curation:sign-in"))
            return redirect_whole(request, to_sign_in.url)
        request.seats = seats_of(request.user)
        if _lacks_a_factor(request):
            return redirect_whole(request, reverse("curation:preferences-factor"))
        return view(request, **kwargs)

    return guarded


# Where somebody may go who still has to set their second factor up.
_TO_A_FACTOR = {"preferences-factor", "preferences-factor-qr"}


def _lacks_a_factor(request: ConsoleRequest) -> bool:
    """Whether the installation asks for a second factor in one of the person's roles, and this
    session began without one. The identity provider asks for its own."""
    session, match = request.session, request.resolver_match
    if session.get(METHOD) == SignInMethod.PROVIDER or session.get(FACTOR):
        return False
    if match is not None and match.url_name in _TO_A_FACTOR:
        return False
    return is_demanded(request.user, (seat.member.role for seat in request.seats))


def redirect_whole(request: ConsoleRequest, address: str) -> HttpResponseBase:
    """Lead somewhere else, the whole page even when a fragment was wanted."""
    if request.htmx:
        return HttpResponseClientRedirect(address)
    return HttpResponseRedirect(address)


def right_required(
    right: Right,
) -> Callable[
    [Callable[Concatenate[ConsoleRequest, ...], HttpResponseBase]], Callable[..., HttpResponseBase]
]:
    """Guard a page of an app (`app_name` in its address): sign-in, then 404, then 403."""

    def decorate(
        view: Callable[Concatenate[ConsoleRequest, ...], HttpResponseBase],
    ) -> Callable[..., HttpResponseBase]:
        @wraps(view)
        def seated(request: ConsoleRequest, /, *, app_name: str, **kwargs: Any) -> HttpResponseBase:
            seat = next((seat for seat in request.seats if seat.app.name == app_name), None)
            if seat is None:
                raise Http404
            request.seat = seat
            demand(request, right)
            return view(request, **kwargs)

        guarded = signed_in_required(seated)
        guarded.right = right  # type: ignore[attr-defined]  # the role matrix reads it
        return guarded

    return decorate


def superuser_required(
    view: Callable[Concatenate[ConsoleRequest, ...], HttpResponseBase],
) -> Callable[..., HttpResponseBase]:
    """Guard a page of the installation. For everybody else there is none: 404."""

    @wraps(view)
    def guarded(request: ConsoleRequest, /, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_superuser:
            raise Http404
        return view(request, **kwargs)

    asked = signed_in_required(guarded)
    asked.of_the_installation = True  # type: ignore[attr-defined]  # the role matrix reads it
    return asked


def demand(request: ConsoleRequest, right: Right) -> None:
    """Raise MissingRightError: for what a page does beside being shown."""
    if not request.seat.may(right):
        raise MissingRightError(right)


def actor_of(request: ConsoleRequest) -> Actor:
    """Return the person as the actor of what this request changes, in the role they have now: in
    the app of the page, or else as whoever looks after the installation."""
    seat: Seat | None = getattr(request, "seat", None)
    role = seat.role if seat else ("superuser" if request.user.is_superuser else "")
    return actor_named(request, request.user.get_username(), role=role)


def actor_named(request: HttpRequest, name: str, *, role: str = "") -> Actor:
    """The same of somebody who is not signed in, or not yet; without a name the sign-in itself."""
    match = request.resolver_match
    return Actor(
        name=name or "sign-in",
        kind=ActorKind.MEMBER if name else ActorKind.SYSTEM,
        role=role,
        request_id=str(ids.new_id()),
        route=f"{request.method} {match.route if match else ''}"[:64],
        address_hash=hashed_address(client_address(request.META)),
    )
