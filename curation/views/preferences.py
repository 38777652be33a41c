from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from curation.access import ConsoleRequest, actor_of, signed_in_required
from curation.page import render_page
from curation.preferences import KEPT_SECONDS, KEYS, THEME, ZONE, PreferencesForm, zones
from curation.signing_in.forms import PasswordForm
from curation.views.sign_in import refuse_for_now, safe_return
from episodes.accounts import WeakPasswordError
from episodes.accounts.passwords import change_password
from episodes.accounts.second_factor import has_factor
from episodes.accounts.signing_in import WrongPasswordError
from episodes.accounts.throttle import TooManyTriesError
from episodes.models import Identity

_COOKIES = {"theme": THEME, "zone": ZONE, "keys": KEYS}


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in_required
def preferences(request: ConsoleRequest) -> HttpResponse:
    """Only what was sent is changed; an empty zone follows the browser again."""
    form = PreferencesForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        return _remember(request, form)
    return _render(request, form, PasswordForm(), status=422 if form.is_bound else 200)


@sensitive_post_parameters("old", "new", "again")
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in_required
def set_password(request: ConsoleRequest) -> HttpResponse:
    """With the old one. This browser stays signed in, every other one is signed out."""
    if request.method != "POST":
        return redirect("curation:preferences")
    form = PasswordForm(request.POST)
    if not form.is_valid():
        return _render(request, PreferencesForm(), form, status=422)
    try:
        change_password(
            account=request.user,
            old=form.cleaned_data["old"],
            new=form.cleaned_data["new"],
            session_key=request.session.session_key or "",
            actor=actor_of(request),
        )
    except TooManyTriesError as error:
        form.add_error("old", f"Too many wrong tries. Try again in {error.seconds} seconds.")
        return refuse_for_now(_render(request, PreferencesForm(), form), error)
    except WrongPasswordError:
        form.add_error("old", "This is not your password.")
        return _render(request, PreferencesForm(), form, status=422)
    except WeakPasswordError as error:
        form.add_error("new", str(error))
        return _render(request, PreferencesForm(), form, status=422)
    update_session_auth_hash(request, request.user)
    messages.success(request, "The password is changed. Other browsers are signed out.")
    return redirect("curation:preferences")


@require_safe
@signed_in_required
def list_keys(request: ConsoleRequest) -> HttpResponse:
    return render_page(request, "curation/keys.html")


def _render(
    request: ConsoleRequest, form: PreferencesForm, password: PasswordForm, *, status: int = 200
) -> HttpResponse:
    provider = settings.IDENTITY_PROVIDER
    context = {
        "form": form,
        "password": password,
        "zones": sorted(zones()),
        "next": safe_return(request),
        "has_password": request.user.has_usable_password(),
        "has_factor": has_factor(request.user),
        "provider": provider,
        "is_linked": provider is not None
        and Identity.objects.filter(user=request.user, issuer=provider.issuer).exists(),
    }
    return render_page(request, "curation/preferences.html", context, status=status)


def _remember(request: HttpRequest, form: PreferencesForm) -> HttpResponse:
    response = redirect(safe_return(request))
    for field, cookie in _COOKIES.items():
        if field not in form.data:
            continue
        if value := form.cleaned_data[field]:
            response.set_cookie(
                cookie,
                value,
                max_age=KEPT_SECONDS,
                secure=request.is_secure(),
                httponly=True,
                samesite="Lax",
            )
        else:
            response.delete_cookie(cookie, samesite="Lax")
    return response
