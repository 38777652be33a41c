"""Signing in through the identity provider: out to it, and back with its answer."""

from __future__ import annotations

import logging
from dataclasses import asdict, replace

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from curation.access import ConsoleRequest, actor_named, actor_of, signed_in_required
from curation.page import render_page
from curation.signing_in.forms import SignInForm
from curation.views.sign_in import go_on, render_sign_in, safe_return
from episodes.accounts import AccountExistsError, BadAccountNameError
from episodes.accounts.identities import (
    LinkedElsewhereError,
    NoRoleError,
    Person,
    SwitchedOffError,
    admit_person,
    link_person,
)
from episodes.accounts.provider import Departure, ProviderError, RefusedError, arrive, depart
from episodes.enums import SignInMethod
from memoryadmin.lib import clock
from memoryadmin.lib.identity_provider import Provider

logger = logging.getLogger(__name__)

_KEY = "departure"
_SECONDS = 900  # to sign in over there
_NO_ANSWER = "The identity provider does not answer as it should. Try again in a moment."
_NOT_GENUINE = "What came back from the identity provider was not taken. Sign in once more."
_NO_ROLE = "None of your groups has a role here. Whoever runs the identity provider gives you one."
_SWITCHED_OFF = "Your account here is switched off."
_TAKEN = (
    "There is an account of your name here that is not linked to the identity provider. If it is "
    "yours, sign in with its password and link it in the preferences."
)


@require_safe
def leave(request: HttpRequest) -> HttpResponse:
    """A link and no form: the policy of our pages lets no form lead off the site."""
    onward = safe_return(request)
    if request.user.is_authenticated:
        return redirect(onward)
    try:
        return redirect(_depart(request, _provider(), onward))
    except ProviderError as error:
        return _refuse(request, onward, _NO_ANSWER, error, status=503)


@require_safe
def come_back(request: HttpRequest) -> HttpResponse:
    provider = _provider()
    kept = request.session.pop(_KEY, None)
    if kept is None or kept["until"] <= clock.now().timestamp():
        return _refuse(request, "/", _NOT_GENUINE, RefusedError("not sent from here"))
    onward = kept["onward"]
    try:
        person = arrive(
            provider=provider,
            redirect_uri=_redirect_uri(request),
            departure=Departure(**kept["departure"]),
            answer=request.GET.dict(),
        )
    except RefusedError as error:
        return _refuse(request, onward, _NOT_GENUINE, error)
    except ProviderError as error:
        return _refuse(request, onward, _NO_ANSWER, error, status=503)
    if kept["links"]:
        return _link(request, kept["links"], person)
    return _admit(request, provider, person, onward)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in_required
def link(request: ConsoleRequest) -> HttpResponse:
    """Link the account of whoever is signed in: by a form of ours, or another site could send
    somebody's browser to link it to a stranger at the provider."""
    provider = _provider()
    if request.method != "POST":
        return redirect("curation:preferences")
    try:
        address = _depart(request, provider, reverse("curation:preferences"), links=request.user.pk)
    except ProviderError as error:
        logger.warning("identity provider: %s", error)
        messages.error(request, _NO_ANSWER)
        return redirect("curation:preferences")
    return render_page(
        request, "curation/provider_link.html", {"address": address, "provider": provider}
    )


def _depart(request: HttpRequest, provider: Provider, onward: str, *, links: int = 0) -> str:
    departure = depart(provider=provider, redirect_uri=_redirect_uri(request))
    request.session[_KEY] = {
        "departure": asdict(replace(departure, address="")),
        "onward": onward,
        "links": links,
        "until": clock.now().timestamp() + _SECONDS,
    }
    return departure.address


def _admit(request: HttpRequest, provider: Provider, person: Person, onward: str) -> HttpResponse:
    # it is the provider's word that makes accounts and roles, not the name it gives somebody
    actor = replace(actor_named(request, ""), name="identity provider")
    try:
        account = admit_person(person=person, grants=provider.grants, actor=actor)
    except NoRoleError as error:
        return _refuse(request, onward, _NO_ROLE, error)
    except SwitchedOffError as error:
        return _refuse(request, onward, _SWITCHED_OFF, error)
    except AccountExistsError as error:
        return _refuse(request, onward, _TAKEN, error)
    except BadAccountNameError as error:
        return _refuse(request, onward, f"Your name is none for an account here: {error}", error)
    return go_on(request, account, SignInMethod.PROVIDER, onward)


def _link(request: HttpRequest, account_id: int, person: Person) -> HttpResponse:
    """Only for whoever left from here, still signed in."""
    if not request.user.is_authenticated or request.user.pk != account_id:
        return _refuse(request, "/", _NOT_GENUINE, RefusedError("another account's link"))
    try:
        link_person(account=request.user, person=person, actor=actor_of(request))  # type: ignore[arg-type]
    except LinkedElsewhereError:
        messages.error(request, "That identity, or this account, is linked already.")
    else:
        messages.success(request, "Linked. You can sign in through the provider from now on.")
    return redirect("curation:preferences")


def _refuse(
    request: HttpRequest, onward: str, told: str, error: Exception, *, status: int = 403
) -> HttpResponse:
    # classes and our own words; names and tokens stay out of the log
    said = str(error) if isinstance(error, RefusedError | ProviderError) else ""
    logger.warning("sign-in through the provider: %s %s", type(error).__name__, said)
    return render_sign_in(request, SignInForm(), onward, status=status, refused=told)


def _provider() -> Provider:
    provider: Provider | None = settings.IDENTITY_PROVIDER
    if provider is None:
        raise Http404
    return provider


def _redirect_uri(request: HttpRequest) -> str:
    return request.build_absolute_uri(reverse("curation:sign-in-back"))
