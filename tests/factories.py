"""Plain factories, through the functions that the program itself uses."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from episodes.applications import create_app
from episodes.audit import Actor
from episodes.embedding.pipeline import embed_due
from episodes.enums import ActorKind, KeyScope
from episodes.ingest.store import SessionAnswer, SessionWrite, write_session
from episodes.keys.issuing import issue_key
from episodes.models import ApiKey, App, Episode, Tombstone
from episodes.tombstones import key_id, subject_hash
from memoryadmin.lib import clock

ACTOR = Actor(name="tests", kind=ActorKind.COMMAND)
GOAL = "Refund the 640 dollar duplicate charge on invoice 8812."

_numbers = count(1)


def make_app(name: str = "") -> App:
    return create_app(name=name or f"app-{next(_numbers)}", actor=ACTOR)


def make_key(app: App, *scopes: str, **options: Any) -> tuple[ApiKey, str]:
    """Issue a key, by default with every scope; return it and the text that callers send."""
    return issue_key(app=app, name="test", scopes=scopes or KeyScope.values, actor=ACTOR, **options)


def make_steps(
    tools: Sequence[str] = ("refund",), *, error: str | None = None, **arguments: Any
) -> list[dict[str, Any]]:
    """Return each tool's call and its result; `error` is the last result's."""
    steps: list[dict[str, Any]] = []
    for number, tool in enumerate(tools):
        call_id = f"call-{number}"
        call = {"kind": "call", "tool": tool, "call_id": call_id, "arguments": arguments}
        steps += [call, {"kind": "result", "tool": tool, "call_id": call_id}]
    if error:
        steps[-1]["error"] = error
    return steps


def make_session(goal: str = GOAL, **members: Any) -> dict[str, Any]:
    """Return a session in the format `episode`."""
    return {"goal": goal, "steps": make_steps(), **members}


def make_body(
    user_id: str = "user-1", session_id: str = "session-1", **members: Any
) -> dict[str, Any]:
    """Return a body of POST /sessions."""
    body = {
        "user_id": user_id,
        "session_id": session_id,
        "format": "episode",
        "session": make_session(),
    }
    return body | members


def write(app: App, *, may_verify: bool = True, **members: Any) -> SessionAnswer:
    """Write one session, as the API would."""
    fields = {"user_id": "user-1", "session_id": "session-1", "format": "episode"}
    return write_session(
        app=app,
        write=SessionWrite(**{**fields, "session": make_session(), **members}),
        actor=ACTOR,
        may_verify=may_verify,
    )


def make_episode(
    app: App,
    *,
    goal: str = GOAL,
    tools: Sequence[str] = ("refund",),
    error: str | None = None,
    outcome: str | None = "success",
    completed_at: datetime | None = None,
    embedded: bool = False,
    **members: Any,
) -> Episode:
    """Write a session of its own and return its episode; with `embedded` its vector is made."""
    members.setdefault("session_id", f"session-{next(_numbers)}")
    members.setdefault("session", {"goal": goal, "steps": make_steps(tools, error=error)})
    with clock.at(_written_at(completed_at)):
        answer = write(app, outcome=outcome, completed_at=completed_at, **members)
    if embedded:
        embed_due(app=app)
    assert answer.episode_id is not None, answer
    return Episode.objects.get(app_id=app.id, id=answer.episode_id)


def make_tombstone(app: App, user_id: str) -> Tombstone:
    """Leave what an erasure of the subject would leave."""
    hashed = subject_hash(app_id=app.id, user_id=user_id)
    return Tombstone.objects.create(app=app, subject_hash=hashed, key_id=key_id())


def _written_at(completed_at: datetime | None) -> datetime:
    """An episode that has expired was written before that: it would not be taken any more."""
    now = clock.now()
    is_old = completed_at is not None and completed_at < now - timedelta(days=100)
    return completed_at if is_old and completed_at is not None else now
