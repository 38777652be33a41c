"""What comes to every store now and then: text that gives orders, sessions that are none, feedback
on what never arrives."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from memoryadmin.demo.desk import Desk
from memoryadmin.demo.rhythm import days_ago

_FILE = Path(__file__).parent / "words" / "oddities.toml"


def told() -> Mapping[str, Any]:
    with _FILE.open("rb") as file:
        return tomllib.load(file)


def plan(desks: Mapping[str, Desk], *, now: datetime) -> None:
    odd = told()
    for kind, act in (("held", _write_held), ("chat", _write_chat), ("lost", _hear_lost)):
        for each in odd[kind]:
            desk = desks[each["app"]]
            at = days_ago(now, each["days"], each["hour"])
            desk.simulation.schedule(at, partial(act, desk, each))


def _write_held(desk: Desk, each: Mapping[str, Any]) -> None:
    steps: list[dict[str, Any]] = []
    for number, step in enumerate(each["steps"].split()):
        tool, _, error = step.partition(":")
        call = {"tool": tool, "call_id": f"call_{number}"}
        steps.append({"kind": "call", **call})
        steps.append({"kind": "result", **call} | ({"error": error} if error else {}))
    session = {"goal": each["goal"], "steps": steps}
    session |= {name: each[name] for name in ("resolution", "lesson") if name in each}
    body = _identity(each) | {
        "format": "episode",
        "session": session,
        "issue_type": each["issue_type"],
    }
    body |= {"outcome": each["outcome"]} if "outcome" in each else {}
    desk.write(desk.agent, body)


def _write_chat(desk: Desk, each: Mapping[str, Any]) -> None:
    desk.write_chat(**_identity(each), said=each["said"])


def _hear_lost(desk: Desk, each: Mapping[str, Any]) -> None:
    desk.hear(**_identity(each), rating=each["rating"], comment=each["comment"])


def _identity(each: Mapping[str, Any]) -> dict[str, Any]:
    return {"user_id": each["user_id"], "session_id": each["session_id"]}
