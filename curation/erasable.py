"""Where curation holds a subject's data, and how it goes (memoryadmin/lib/erasable.py).

Precedents are forgotten before anything else, while the subject's rows are still there. Flags and
alarms about an org episode of the subject's words go with it. An incident is the organisation's
own record: what names the subject in it goes, the incident stays.
"""

from __future__ import annotations

from typing import Any

from django.db import connection

from curation.lessons.proposing import forget_sources
from curation.models import (
    Alarm,
    Consolidation,
    ConsolidationSource,
    Containment,
    Contribution,
    Flag,
    Incident,
    IncidentEvent,
    IncidentHook,
    IncidentLink,
    IncidentNotice,
    IncidentPerson,
    Precedent,
)
from curation.models.incident import SourceKind
from curation.promotion.forgetting import forget_contributor
from episodes.audit import SYSTEM
from episodes.deletion import goes_with_its_episode
from episodes.erasure.shared import shared_episodes
from episodes.erasure.stores import PEOPLE
from episodes.models import App
from memoryadmin.lib.erasable import (
    Place,
    Store,
    Subject,
    count_rows,
    evidence,
    keep,
    register,
    rows_of,
    say,
)

ERASED = "(erased)"


def register_stores() -> None:
    """Called when the app is ready."""
    _register_promotion()
    _register_poison()
    _register_incidents()


def _register_promotion() -> None:
    register(
        Store(
            "precedents",
            Place.DERIVED,
            ("curation_precedent", "curation_contribution"),
            count=lambda subject: Contribution.objects.filter(
                subject_app_id=subject.app_id, subject_hash=subject.subject_hash
            ).count(),
            erase=_forget_precedents,
        ),
        columns={
            Contribution: ("subject_hash",),
            Precedent: (
                *("user_id", "goal", "steps", "resolution", "lesson", "issue_type", "agent_id"),
                *("toolset_version", "redactions", "dropped", "edited", "accepted"),
                *("accepted_because", "override_reason", "end_reason"),
            ),
        },
    )
    evidence(Precedent, "goal", "resolution", "lesson")
    keep(Contribution, "key_id", because="which key hashed it")
    keep(Precedent, "procedure_key", because="a hash over names of tools")
    keep(
        Precedent,
        *("proposer", "proposer_role", "editors", "approver", "approver_role", "ended_by"),
        because=PEOPLE,
    )
    register(
        Store(
            "lessons",
            Place.DERIVED,
            ("curation_consolidationsource",),
            count=lambda subject: ConsolidationSource.objects.filter(
                app_id=subject.app_id, user_id=subject.user_id
            ).count(),
            erase=lambda subject, limit: forget_sources(
                app=App.objects.get(pk=subject.app_id), user_id=subject.user_id, actor=SYSTEM
            ),
        ),
        columns={ConsolidationSource: ("user_id",), Consolidation: ("reason",)},
    )
    keep(
        Consolidation,
        *("procedure_key", "lesson"),
        because="names of tools and arguments, codes and counts of k subjects and more",
    )
    keep(Consolidation, "decided_by", "decided_role", because=PEOPLE)


def _forget_precedents(subject: Subject, limit: int) -> int:
    done = forget_contributor(
        app=App.objects.get(pk=subject.app_id), subject_hash=subject.subject_hash, actor=SYSTEM
    )
    return done.withdrawn + done.dropped + done.recounted


def _register_poison() -> None:
    rows_of(Alarm, "alarms", Place.CHILDREN, columns=("figures", "reason"))
    goes_with_its_episode(Alarm)
    keep(Alarm, "closed_by", because=PEOPLE)
    register(
        Store(
            "flags",
            Place.CHILDREN,
            ("curation_containment", "curation_flag"),
            count=_count_flags,
            erase=_erase_flags,
        ),
        columns={
            Flag: ("user_id", "note", "lift_reason"),
            Containment: ("user_id", "reason", "lift_reason"),
        },
    )
    keep(Flag, "flagged_by", "lifted_by", because=PEOPLE)
    keep(Containment, "blocked_by", "lifted_by", because=PEOPLE)
    keep(Containment, "seen", because="a digest over ids")


_FLAGS = """curation_flag WHERE app_id = %(app_id)s AND user_id = %(user_id)s
    OR episode_id = ANY (%(shared)s::uuid[]) AND app_id = ANY (%(apps)s)"""


def _flags_of(subject: Subject) -> dict[str, Any]:
    shared = shared_episodes(subject)
    return {
        "app_id": subject.app_id,
        "user_id": subject.user_id,
        "shared": [episode_id for _, episode_id in shared],
        "apps": sorted({app_id for app_id, _ in shared}),
    }


def _count_flags(subject: Subject) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {_FLAGS}", _flags_of(subject))
        return int(cursor.fetchone()[0])


def _erase_flags(subject: Subject, limit: int) -> int:
    """Flags with the closures that were blocked for them. What they block of others stays blocked."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT app_id, id FROM {_FLAGS} LIMIT %(limit)s",
            {**_flags_of(subject), "limit": limit},
        )
        found = cursor.fetchall()
        for table, key in (("curation_containment", "flag_id"), ("curation_flag", "id")):
            for app_id in sorted({app_id for app_id, _ in found}):
                cursor.execute(
                    f"DELETE FROM {table} WHERE app_id = %s AND {key} = ANY (%s)",
                    [app_id, [flag for its_app, flag in found if its_app == app_id]],
                )
    return len(found)


def _register_incidents() -> None:
    rows_of(IncidentEvent, "incident_events", Place.AROUND, columns=("text", "detail"))
    rows_of(IncidentLink, "incident_links", Place.AROUND, columns=("target_id",))
    register(
        Store(
            "incidents",
            Place.AROUND,
            ("curation_incident",),
            count=lambda subject: count_rows(
                "FROM curation_incident WHERE app_id = %(app_id)s AND user_id = %(user_id)s",
                subject,
            ),
            erase=_empty_incidents,
        ),
        columns={Incident: ("user_id", "title", "description", "source_id", "closed_reason")},
    )
    say(Incident, "title")
    keep(IncidentEvent, "by", "role", because=PEOPLE)
    keep(IncidentLink, "added_by", "removed_by", because=PEOPLE)
    keep(Incident, "opened_by", "closed_by", because=PEOPLE)
    keep(IncidentHook, "url", "changed_by", because="where an app's owner is told")
    keep(IncidentNotice, "requested_by", because=PEOPLE)
    keep(IncidentNotice, "sha256", "last_error", because="a digest of what was sent, a code")
    keep(IncidentPerson, "name", "added_by", "removed_by", because=PEOPLE)


def _empty_incidents(subject: Subject, limit: int) -> int:
    """What it started from is known no more: the incident becomes one from a description alone."""
    return Incident.objects.filter(app_id=subject.app_id, user_id=subject.user_id).update(
        user_id=None,
        title=ERASED,
        description=ERASED,
        closed_reason="",
        source_kind=SourceKind.DESCRIPTION,
        source_id="",
    )
