"""Telling an app's owner which sessions an incident touched: where to, and that it is wanted."""

from __future__ import annotations

import hashlib
import hmac

from django.conf import settings
from django.db import transaction

from curation import tasks
from curation.models import Incident, IncidentHook, IncidentNotice
from curation.owners.outward import read_address
from episodes import audit
from episodes.applications import NothingChangedError, SettingsChangedError
from episodes.audit import Actor
from episodes.models import App
from memoryadmin.lib import clock
from memoryadmin.lib.jobs import delay_on_commit

URL_LENGTH = 500


class NoHookError(Exception):
    """The app has no address at which its owner is told."""


class AlreadyAskedError(Exception):
    """The owner is being told of this incident already."""


def signing_secret(app: App) -> str:
    """Return the secret that notices of the app are signed with: derived, so that the database
    holds nothing one could sign with."""
    named = f"incident-hook:{app.pk}".encode()
    return hmac.new(settings.HASH_KEY.encode(), named, hashlib.sha256).hexdigest()


@transaction.atomic
def set_hook(*, app: App, url: str, seen: str, actor: Actor) -> None:
    """Set the address; an empty one takes it away. `seen`: the address that the change is based on.

    Raises BadAddressError, SettingsChangedError, NothingChangedError.
    """
    if url:
        read_address(url)
    App.objects.select_for_update(no_key=True).get(pk=app.pk)
    before = hook_of(app)
    if before != seen:
        raise SettingsChangedError
    if url == before:
        raise NothingChangedError
    if url:
        IncidentHook.objects.update_or_create(
            app=app,
            defaults={"url": url, "changed_at": clock.now(), "changed_by": actor.name},
        )
    else:
        IncidentHook.objects.filter(app=app).delete()
    audit.record(
        actor=actor,
        verb="incident_hook.changed",
        target_kind="app",
        target_id=app.pk,
        app=app,
        before={"url": before},
        after={"url": url},
    )


def hook_of(app: App) -> str:
    """Return the address, or an empty text."""
    return IncidentHook.objects.filter(app=app).values_list("url", flat=True).first() or ""


@transaction.atomic
def ask_to_tell(*, incident: Incident, actor: Actor) -> IncidentNotice:
    """Let the app's owner be told, soon and outside this request. Raises NoHookError,
    AlreadyAskedError."""
    Incident.objects.select_for_update(no_key=True).get(pk=incident.pk, app_id=incident.app_id)
    if not hook_of(incident.app):
        raise NoHookError
    of_it = IncidentNotice.objects.filter(app_id=incident.app_id, incident_id=incident.pk)
    if of_it.filter(next_attempt_at__isnull=False).exists():
        raise AlreadyAskedError
    notice = IncidentNotice.objects.create(
        app_id=incident.app_id, incident_id=incident.pk, requested_by=actor.name
    )
    audit.record(
        actor=actor,
        verb="incident.telling_asked",
        target_kind="incident",
        target_id=incident.pk,
        app=incident.app,
        after={"notice": str(notice.id)},
    )
    delay_on_commit(tasks.tell_owners)
    return notice


def list_notices(incident: Incident) -> list[IncidentNotice]:
    """Newest first."""
    rows = IncidentNotice.objects.filter(app_id=incident.app_id, incident_id=incident.pk)
    return list(rows.order_by("-requested_at", "-id"))
