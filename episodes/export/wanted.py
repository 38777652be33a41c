"""Which episodes an export holds: a subject's or everybody's, narrowed by what their heads say."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from django.db.models import Q

from episodes.enums import RecallState, Scope
from episodes.ingest.storable import Storable
from episodes.models import App, Episode, EpisodeQuerySet
from memoryadmin.lib.cursors import Cursor

_LABELS = ("agent_id", "task_id", "issue_type")
# Their values are closed words or times, and nobody's; of the others the audit keeps the name.
_NOBODYS = frozenset({"since", "until", "outcome", "state", "blocked", "agent_id", "issue_type"})


@dataclass(frozen=True, slots=True)
class Wanted:
    """None and empty: whatever it is. `since`, `until`: when it was completed; an open episode has
    no such time. `blocked`: kept out of recall, or not."""

    user_id: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    task_id: str | None = None
    issue_type: str | None = None
    tags: tuple[str, ...] = ()
    outcome: tuple[str, ...] = ()
    state: str | None = None
    blocked: bool | None = None
    since: datetime | None = None
    until: datetime | None = None

    def rows(self, app: App) -> EpisodeQuerySet:
        """Return what of the app may leave it: subjects' episodes that have evidence, have not
        expired, and whose subject is not being erased.

        The organisation's rows belong to nobody and came about by two people's judgement; they are
        promoted where they are wanted, not copied.
        """
        rows = Episode.objects.of_app(app).unexpired(app.cutoffs).unerased()
        return rows.filter(self._condition(), scope=Scope.USER, revision__gte=1)

    def as_json(self) -> dict[str, Any]:
        """Return it for the audit, whose text no erasure finds by a session or a task."""
        asked = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) not in (None, ()) and field.name != "user_id"
        }
        return {
            name: (_plain(value) if name in _NOBODYS else "given") for name, value in asked.items()
        }

    def _condition(self) -> Q:
        stored = Storable(self.user_id).value  # labels are asked for as they were stored
        equal = {
            name: stored(value) if name in _LABELS else value
            for name in ("user_id", "session_id", "state", *_LABELS)
            if (value := getattr(self, name)) is not None
        }
        wanted = Q(**equal)
        if self.tags:
            wanted &= Q(tags__contains=[stored(tag) for tag in self.tags])
        if self.outcome:
            wanted &= Q(outcome__in=self.outcome)
        if self.blocked is not None:
            is_blocked = Q(recall_state=RecallState.BLOCKED)
            wanted &= is_blocked if self.blocked else ~is_blocked
        if self.since is not None:
            wanted &= Q(completed_at__gte=self.since)
        if self.until is not None:
            wanted &= Q(completed_at__lt=self.until)
        return wanted


def after(cursor: Cursor) -> Q:
    """The rows behind a place in the order of receipt, which is that of an index."""
    later = Q(received_at__gt=cursor.at) | Q(id__gt=cursor.id)
    return Q(received_at__gte=cursor.at) & later


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value
