"""What tests start from, made through the program's own functions. No surprises: each makes one
thing, and everything can be said."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import count
from typing import Any

from episodes.applications import create_app
from episodes.audit import Actor
from episodes.embedding.pipeline import embed_due
from episodes.enums import ActorKind, KeyScope
from episodes.ingest.store import SessionAnswer, SessionWrite, write_session
from episodes.keys import issue_key
from episodes.models import App, Episode

ACTOR = Actor(name="tests", kind=ActorKind.COMMAND)
GOAL = "Refund the 640 dollar duplicate charge on invoice 8812."

_numbers = count(1)


def make_app(name: str = "") -> App:
    return create_app(name=name or f"app-{next(_numbers)}", actor=ACTOR)


def make_key(app: App, *scopes: str, **options: Any) -> str:
    """Return a whole API key, as a caller holds it; without scopes it has all of them."""
    _, key = issue_key(
        app=app, name="test", scopes=scopes or KeyScope.values, actor=ACTOR, **options
    )
    return key


def a_session(
    *, goal: str = GOAL, tools: Sequence[str] = ("refund_payment",), error: str | None = None
) -> dict[str, Any]:
    """Return a session in the format `episode`: each tool called once; `error` ends the last."""
    steps: list[dict[str, Any]] = []
    for position, tool in enumerate(tools):
        call_id = f"c{position}"
        steps.append({"kind": "call", "tool": tool, "call_id": call_id, "arguments": {}})
        result: dict[str, Any] = {"kind": "result", "tool": tool, "call_id": call_id}
        steps.append(result)
    if error:
        steps[-1]["error"] = error
    return {"goal": goal, "steps": steps}


def write(
    app: App,
    *,
    user_id: str = "user-1",
    session_id: str = "",
    verify: bool = True,
    goal: str = GOAL,
    tools: Sequence[str] = ("refund_payment",),
    error: str | None = None,
    **fields: Any,
) -> SessionAnswer:
    """Write one session, as the API would."""
    fields.setdefault("session", a_session(goal=goal, tools=tools, error=error))
    fields.setdefault("format", "episode")
    return write_session(
        app=app,
        write=SessionWrite(
            user_id=user_id, session_id=session_id or f"session-{next(_numbers)}", **fields
        ),
        actor=ACTOR,
        may_verify=verify,
    )


def make_episode(
    *,
    app: App | None = None,
    outcome: str | None = "success",
    completed_at: datetime | None = None,
    embedded: bool = False,
    **fields: Any,
) -> Episode:
    """Return a stored episode; with `embedded` its vector has been made."""
    app = app or make_app()
    answer = write(app, outcome=outcome, completed_at=completed_at, **fields)
    assert answer.episode_id is not None, answer
    if embedded:
        embed_due(app=app)
    return Episode.objects.get(id=answer.episode_id, app=app)
