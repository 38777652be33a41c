"""Signing in: by password, with the code of a second factor where there is one; signing out."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from curation.access import actor_named
from curation.page import render_page
from curation.signing_in.forms import CodeForm, SignInForm
from curation.signing_in.half_signed_in import Half, forget_half, read_half, remember_half
from curation.signing_in.known_browser import mark_of, remember_browser
from episodes.accounts import has_account
from episodes.accounts.second_factor import WrongCodeError, has_factor, verify_code
from episodes.accounts.signing_in import (
    PasswordsAreOffError,
    Visitor,
    WrongPasswordError,
    begin_session,
    check_password,
)
from episodes.accounts.throttle import TooManyTriesError
from episodes.addresses import client_address
from episodes.enums import SignInMethod

_WRONG = "This is not a correct username and password. Both tell capitals from small letters."
_WRONG_CODE = "This is no code of this moment. A code counts once, for about a minute."
_OFF = "Here people sign in through the identity provider, not by password."


@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    onward = safe_return(request)
    if request.user.is_authenticated:
        return redirect(onward)
    form = SignInForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return render_sign_in(request, form, onward, status=422 if form.is_bound else 200)
    name = form.cleaned_data["username"]
    try:
        account = check_password(
            name=name,
            password=form.cleaned_data["password"],
            visitor=Visitor(client_address(request.META), mark_of(request, name)),
            actor=actor_named(request, ""),
        )
    except TooManyTriesError as error:
        return refuse_for_now(render_sign_in(request, form, onward, wait=error.seconds), error)
    except WrongPasswordError:
        form.add_error(None, _WRONG)
        return render_sign_in(request, form, onward, status=422)
    except PasswordsAreOffError:
        form.add_error(None, _OFF)
        return render_sign_in(request, form, onward, status=403)
    return go_on(request, account, SignInMethod.PASSWORD, onward)


def go_on(request: HttpRequest, account: User, method: SignInMethod, onward: str) -> HttpResponse:
    """To the second factor, if the account has one, or into the console."""
    if has_factor(account):
        remember_half(request, Half(account, method, onward))
        return redirect("curation:sign-in-code")
    return enter(request, account, method, onward, with_factor=False)


def enter(
    request: HttpRequest, account: User, method: SignInMethod, onward: str, *, with_factor: bool
) -> HttpResponse:
    name = account.get_username()
    begin_session(
        request=request,
        account=account,
        method=method,
        with_factor=with_factor,
        actor=actor_named(request, name),
    )
    response = redirect(onward)
    remember_browser(response, request, name)
    return response


@sensitive_post_parameters("code")
@require_http_methods(["GET", "HEAD", "POST"])
def give_code(request: HttpRequest) -> HttpResponse:
    half = read_half(request)
    if half is None:
        return redirect("curation:sign-in")
    form = CodeForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return _render_code(request, form, status=422 if form.is_bound else 200)
    name = half.account.get_username()
    try:
        verify_code(
            account=half.account,
            code=form.cleaned_data["code"],
            browser=mark_of(request, name),
            actor=actor_named(request, name),
        )
    except TooManyTriesError as error:
        return refuse_for_now(_render_code(request, form, wait=error.seconds), error)
    except WrongCodeError:
        form.add_error(None, _WRONG_CODE)
        return _render_code(request, form, status=422)
    forget_half(request)
    return enter(request, half.account, half.method, half.onward, with_factor=True)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("curation:sign-in")


def refuse_for_now(response: HttpResponse, error: TooManyTriesError) -> HttpResponse:
    response.status_code = 429
    response.headers["Retry-After"] = str(error.seconds)
    return response


def render_sign_in(
    request: HttpRequest,
    form: SignInForm,
    onward: str,
    *,
    status: int = 200,
    wait: int = 0,
    refused: str = "",
) -> HttpResponse:
    context = {
        "form": form,
        "next": onward,
        "is_nobody_yet": not has_account(),
        "provider": settings.IDENTITY_PROVIDER,
        "by_password": settings.PASSWORD_SIGN_IN,
        "wait": wait,
        "refused": refused,
    }
    return render_page(request, "curation/sign_in.html", context, status=status)


def _render_code(
    request: HttpRequest, form: CodeForm, *, status: int = 200, wait: int = 0
) -> HttpResponse:
    context = {"form": form, "wait": wait}
    return render_page(request, "curation/sign_in_code.html", context, status=status)


def safe_return(request: HttpRequest) -> str:
    """Return where to go on, as the request says it, but never off this site."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    if url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    ):
        return wanted
    return "/"
