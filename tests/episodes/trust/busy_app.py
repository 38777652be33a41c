"""An app with a past: many kinds of questions, asked by many subjects, and the episodes they had."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from episodes.embedding.pipeline import embed_due
from episodes.models import App
from episodes.recall import SearchRequest, search
from tests.episodes.asking import caller_of
from tests.factories import make_episode

_VERBS = ("refund", "cancel", "ship", "restore", "rename", "export", "merge", "invite")
_THINGS = (
    ("invoice", "card", "bank statement"),
    ("parcel", "warehouse", "courier"),
    ("database", "backup", "replica"),
    ("password", "login", "second factor"),
    ("meeting", "calendar", "time zone"),
    ("photo album", "camera", "printer"),
    ("flight", "seat", "boarding pass"),
    ("prescription", "pharmacy", "doctor"),
)


def questions(n: int, *, seed: int = 1) -> list[str]:
    """Return `n` wordings over 64 kinds."""
    rng = Random(seed)  # noqa: S311  (content, not a secret)
    found: dict[str, None] = {}
    while len(found) < n:
        verb, things = rng.choice(_VERBS), rng.choice(_THINGS)
        found[f"Please {verb} the {rng.choice(things)} of my {rng.choice(things)} soon"] = None
    return list(found)


def live(
    app: App,
    asked: Sequence[str],
    *,
    n_subjects: int = 10,
    goals: Sequence[str] = (),
) -> None:
    """Let the subjects have their episodes (of the same kinds, if no goals are given), then ask."""
    for number, goal in enumerate(goals or questions(30, seed=2)):
        make_episode(app, goal=goal, user_id=f"subject-{number % n_subjects}")
    embed_due(app=app)
    caller = caller_of(app)
    for number, query in enumerate(asked):
        search(
            caller=caller,
            request=SearchRequest(
                user_id=f"subject-{number % n_subjects}",
                query=query,
                session_id=f"asking-{number}",
            ),
            request_id="past",
        )


def magnet(asked: Sequence[str]) -> str:
    """Return a goal made of what is asked most, near every question."""
    words = dict.fromkeys(word for query in asked for word in query.rstrip(".").split())
    return " ".join(words)


def unrelated(n: int = 12) -> list[str]:
    """Return goals that are near nothing that is asked."""
    rooms = ("kitchen", "attic", "garden", "cellar", "garage", "hall")
    return [f"Water the ferns in the {rooms[i % 6]} on floor {i}" for i in range(n)]
