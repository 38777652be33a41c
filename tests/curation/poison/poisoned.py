"""Flags and blocked closures, by the functions that the program uses."""

from __future__ import annotations

from typing import Any

from curation.models import Containment, Flag, FlagReason
from curation.poison.flagging import Choice, block_closure, flag_episode, read_closure
from episodes.models import App, Episode
from memoryadmin.lib import ids
from tests.episodes.recall_log import spread
from tests.factories import ACTOR, make_episode


def make_flag(app: App, episode: Episode | None = None, **members: Any) -> Flag:
    told: dict[str, Any] = {"reason": FlagReason.INJECTION, "note": "The note gives orders."}
    return flag_episode(episode=episode or make_episode(app), actor=ACTOR, **(told | members))


def make_containment(
    app: App, flag: Flag | None = None, choice: Choice | None = None
) -> Containment:
    """Block what the flagged episode reached; without a flag, one that reached one."""
    if flag is None:
        episode = make_episode(app)
        spread(app, [episode], session_id=f"reached-{ids.new_id()}")
        flag = make_flag(app, episode)
    return block_closure(
        flag=flag,
        choice=choice or Choice(),
        seen=read_closure(flag=flag).digest,
        reason="It copied the order.",
        actor=ACTOR,
    )


def make_spread(app: App, *, sessions: int, **members: Any) -> Episode:
    """An episode that was given to each of so many sessions, each of which wrote one."""
    root = make_episode(app, **members)
    for _ in range(sessions):
        spread(app, [root], session_id=f"s-{ids.new_id()}")
    return root
