"""Settings: the keys that machines use. A secret is shown in the answer that issues it, and never
again."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods

from curation.access import ConsoleRequest, Right, actor_of, demand, right_required
from curation.page import render_page
from curation.reading.keys import list_keys
from curation.settings.forms import KeyForm
from episodes.keys.issuing import issue_key
from episodes.keys.subject_tokens import signing_secret
from episodes.models import ApiKey
from memoryadmin.lib import clock


@require_http_methods(["GET", "HEAD", "POST"])
@right_required(Right.SEE_SETTINGS)
def edit_keys(request: ConsoleRequest) -> HttpResponse:
    if request.method == "POST":
        demand(request, Right.ADMINISTER)
        return _issue(request, KeyForm(request.POST))
    return _render(request, KeyForm())


@sensitive_variables("secret")
def _issue(request: ConsoleRequest, form: KeyForm) -> HttpResponse:
    """Answered at once, without a redirect: nothing keeps the secret until another page asks."""
    if not form.is_valid():
        return _render(request, form, status=422)
    wanted = form.cleaned_data
    key, secret = issue_key(
        app=request.seat.app,
        name=wanted["name"],
        scopes=wanted["scopes"],
        expires_at=wanted["expires_on"],
        limit_per_minute=wanted["limit_per_minute"],
        demands_subject_token=wanted["demands_subject_token"],
        actor=actor_of(request),
    )
    return _render(request, KeyForm(), issued=key, secret=secret)


def _render(
    request: ConsoleRequest,
    form: KeyForm,
    *,
    issued: ApiKey | None = None,
    secret: str = "",
    status: int = 200,
) -> HttpResponse:
    subject_secret = signing_secret(issued.id) if issued and issued.demands_subject_token else ""
    context = {
        "tab": "keys",
        "form": form,
        "rows": list_keys(member=request.seat.member),
        "issued": issued,
        "secret": secret,
        "subject_secret": subject_secret,
        "now": clock.now(),
        "may_administer": request.seat.may(Right.ADMINISTER),
    }
    return render_page(request, "curation/settings_keys.html", context, status=status)
