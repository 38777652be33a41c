from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from curation.access import ConsoleRequest, signed_in_required
from curation.forms import PreferencesForm
from curation.page import render_page
from curation.preferences import KEPT_SECONDS, KEYS, THEME, ZONE, zones
from curation.views.sign_in import safe_return

_COOKIES = {"theme": THEME, "zone": ZONE, "keys": KEYS}


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in_required
def preferences(request: ConsoleRequest) -> HttpResponse:
    """Only what was sent is changed; an empty zone follows the browser again."""
    form = PreferencesForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        return _remember(request, form)
    context = {"form": form, "zones": sorted(zones()), "next": safe_return(request)}
    return render_page(
        request, "curation/preferences.html", context, status=422 if form.is_bound else 200
    )


@require_safe
@signed_in_required
def list_keys(request: ConsoleRequest) -> HttpResponse:
    return render_page(request, "curation/keys.html")


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
