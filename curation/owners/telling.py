"""Delivering notices to apps' owners: signed, with attempts that are rows and no countdown.

    body       {"notice", "incident", "app", "state", "severity", "sessions": [{"user_id",
               "session_id", "depth", "recalls", "first_recalled_at"}]}, as JSON
    signature  X-Memoryadmin-Signature: t=<seconds since 1970>,v1=<hex HMAC-SHA256 over "t.body">,
               under the secret that the settings page shows

Nothing of it is stored but its hash and the number of sessions. A notice may come twice, when a
worker dies between the answer and its row; the receiver knows it by its id.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import UTC, timedelta
from uuid import UUID

from django.db import transaction

from curation.models import EventKind, Incident, IncidentEvent, IncidentNotice
from curation.owners import outward
from curation.owners.hooks import hook_of, signing_secret
from curation.reading.incident_backwards import read_backwards
from curation.reading.incident_forwards import read_forwards
from curation.reading.incidents import read_incident
from episodes import audit
from episodes.models import Member
from memoryadmin.lib import clock

BATCH = 3  # a request may take ten seconds, and a task 45
ATTEMPTS = 10
# After the first attempt a minute, then twice as long each time, an hour at most.
FIRST_PAUSE, LONGEST_PAUSE = timedelta(minutes=1), timedelta(hours=1)


def tell_owners(*, limit: int = BATCH) -> int:
    """Try what is due, oldest first; return how many were delivered."""
    delivered = 0
    for _ in range(limit):
        notice = _lease()
        if notice is None:
            break
        delivered += _try(notice)
    return delivered


@transaction.atomic
def _lease() -> IncidentNotice | None:
    """Take the next due notice: its next attempt is put off before this one begins, so that two
    workers do not send it, and one that dies only delays it. The last one puts off nothing more:
    whatever it fails of, also of what it would say, the notice is given up."""
    due = IncidentNotice.objects.filter(next_attempt_at__lte=clock.now())
    notice = due.select_for_update(skip_locked=True).order_by("next_attempt_at", "id").first()
    if notice is None:
        return None
    notice.attempts += 1
    if notice.attempts < ATTEMPTS:
        pause = min(FIRST_PAUSE * 2 ** (notice.attempts - 1), LONGEST_PAUSE)
        notice.next_attempt_at = clock.now() + pause
    else:
        notice.next_attempt_at = None
    notice.last_error = "unfinished"  # until it is known how this attempt ended
    notice.save(update_fields=["attempts", "next_attempt_at", "last_error"])
    return notice


def _try(notice: IncidentNotice) -> bool:
    incident = Incident.objects.select_related("app").get(
        pk=notice.incident_id, app_id=notice.app_id
    )
    url = hook_of(incident.app)
    body, n_sessions = _body(incident, notice.id)
    try:
        if not url:
            raise outward.NotDeliveredError("no_address")
        outward.post(url, body=body, headers=_headers(incident, body, notice.id))
    except outward.NotDeliveredError as error:
        _note_failure(notice, error.code, is_final=notice.attempts >= ATTEMPTS or not url)
        return False
    except (outward.BadAddressError, outward.PrivateAddressError):
        _note_failure(notice, "private_address", is_final=True)
        return False
    _note_delivery(notice, incident, body, n_sessions)
    return True


def _body(incident: Incident, notice_id: UUID) -> tuple[bytes, int]:
    member = Member(app=incident.app)
    page = read_incident(member=member, incident_id=incident.id)
    if page is None:
        raise Incident.DoesNotExist
    forwards = read_forwards(
        member=member, roots=page.roots, backwards=read_backwards(member=member, roots=page.roots)
    )
    sessions = [
        {
            "user_id": one.user_id,
            "session_id": one.session_id,
            "depth": one.depth,
            "recalls": one.recalls,
            "first_recalled_at": one.first_recalled_at.astimezone(UTC).isoformat(),
        }
        for one in forwards.reach.sessions
    ]
    told = {
        "notice": str(notice_id),
        "incident": str(incident.id),
        "app": incident.app.name,
        "state": incident.state,
        "severity": incident.severity,
        "sessions": sessions,
    }
    return json.dumps(told, sort_keys=True).encode(), len(sessions)


def _headers(incident: Incident, body: bytes, notice_id: UUID) -> dict[str, str]:
    at = int(clock.now().timestamp())
    secret = signing_secret(incident.app).encode()
    signature = hmac.new(secret, f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return {
        "Content-Type": "application/json",
        "X-Memoryadmin-Notice": str(notice_id),
        "X-Memoryadmin-Signature": f"t={at},v1={signature}",
    }


@transaction.atomic
def _note_failure(notice: IncidentNotice, code: str, *, is_final: bool) -> None:
    notice.last_error = code[:64]
    if is_final:
        notice.next_attempt_at = None
    notice.save(update_fields=["last_error", "next_attempt_at"])


@transaction.atomic
def _note_delivery(
    notice: IncidentNotice, incident: Incident, body: bytes, n_sessions: int
) -> None:
    notice.delivered_at = clock.now()
    notice.next_attempt_at = None
    notice.n_sessions = n_sessions
    notice.sha256 = hashlib.sha256(body).hexdigest()
    notice.last_error = ""
    notice.save(
        update_fields=["delivered_at", "next_attempt_at", "n_sessions", "sha256", "last_error"]
    )
    told = {"sessions": n_sessions, "sha256": notice.sha256, "attempts": notice.attempts}
    IncidentEvent.objects.create(
        app_id=incident.app_id,
        incident_id=incident.pk,
        kind=EventKind.TOLD,
        detail=told,
        by=audit.SYSTEM.name,
    )
    audit.record(
        actor=audit.SYSTEM,
        verb="incident.told",
        target_kind="incident",
        target_id=incident.pk,
        app=incident.app,
        after=told,
    )
