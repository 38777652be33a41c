"""The demo's agents are released anew now and then, and old toolsets are retired."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from memoryadmin.demo.agent import Agent
from memoryadmin.demo.desk import Desk, Release
from memoryadmin.demo.precedent import Temper
from memoryadmin.demo.tasks import Tool
from memoryadmin.lib import clock

BILLING_TOOLSET = "billing-tools-2.3"


@dataclass(frozen=True, slots=True)
class Planned:
    """A release. `version`: a name of one's own instead of the hash of its tools, which is one of
    their `schemas` or only of their names."""

    days_ago: float
    without: Collection[str] = ()
    version: str = ""
    schemas: bool = False
    has_memory: bool = True
    retired_days_ago: float | None = None


RELEASES: dict[str, Sequence[Planned]] = {
    "billing-agent": (
        Planned(
            150.9,
            without=("open_approval_ticket", "refund_payment", "list_charges"),
            version="billing-tools-1.8",
            has_memory=False,
            retired_days_ago=104.2,
        ),
        Planned(111.4, without=("issue_refund", "get_charge"), version=BILLING_TOOLSET),
    ),
    "runbook-agent": (
        Planned(
            120.9, without=("set_traffic", "raise_replicas"), schemas=True, retired_days_ago=39.6
        ),
        Planned(46.3, schemas=True),
    ),
    "pipeline-agent": (Planned(120.9),),
}


def plan_releases(desk: Desk, *, agent_id: str, hand_over: str, temper: Temper) -> None:
    for number, planned in enumerate(RELEASES[desk.name]):
        tools = {
            name: tool for name, tool in desk.trade.tools.items() if name not in planned.without
        }
        agent = Agent(agent_id, tools, hand_over, temper, planned.has_memory)
        simulation = desk.simulation
        simulation.schedule(
            simulation.now - timedelta(days=planned.days_ago),
            partial(_go_out, desk, planned, agent),
        )
        if planned.retired_days_ago is not None:
            simulation.schedule(
                simulation.now - timedelta(days=planned.retired_days_ago),
                partial(_retire, desk, number),
            )


def _go_out(desk: Desk, planned: Planned, agent: Agent) -> None:
    """Declare the tools of a release on the day it goes out."""
    told = [_told(tool, schemas=planned.schemas) for tool in agent.tools.values()]
    body: dict[str, Any] = {"agent_id": agent.agent_id, "tools": told}
    if planned.version:
        body["version"] = planned.version
    version = desk.backend.post("toolsets", body)["version"]
    # a plain list of names goes along with each session, and the server hashes it
    by_name = not (planned.version or planned.schemas)
    toolset = {"tools": told} if by_name else {"version": version}
    desk.releases.append(Release(clock.now(), agent, toolset, version))


def _retire(desk: Desk, number: int) -> None:
    desk.backend.post(f"toolsets/{desk.releases[number].version}/retire", {})


def _told(tool: Tool, *, schemas: bool) -> dict[str, Any]:
    if not schemas:
        return {"name": tool.name}
    properties = {argument: {"type": ["string", "number"]} for argument in tool.arguments}
    return {"name": tool.name, "parameters": {"type": "object", "properties": properties}}
