"""Declaring which tools an agent has now, and retiring what it has no longer.

*Current* is a set per app and agent, so that a rolling deployment does not retire itself: what was
declared, is not retired and was used within a week (episodes/search/ reads it that way).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F

from episodes import audit
from episodes.audit import Actor
from episodes.models import App, Toolset
from episodes.toolset_hash import Tool, hash_tools, kind_of
from memoryadmin.lib import clock

__all__ = ["UnknownToolsetError", "declare_toolset", "kind_of", "retire_toolset"]

# Out of use for so long, a toolset is no longer current (episodes/search/ reads it so).
USE = timedelta(days=7)


class UnknownToolsetError(Exception):
    """The app never declared such a version."""


@transaction.atomic
def declare_toolset(
    *, app: App, tools: Sequence[Tool], actor: Actor, agent_id: str = "", version: str = ""
) -> tuple[Toolset, bool]:
    """Make a toolset current; return its standing and whether that is new.

    `version` is the caller's own name for it; by default it is the hash of the tools. A version
    that was retired, or out of use, stands anew. Raises DuplicateToolError.
    """
    hashed = hash_tools(tools)
    now = clock.now()
    named = {"app": app, "agent_id": agent_id, "version": version or hashed.version}
    _end_disused(now, **named)
    standing, is_new = Toolset.objects.select_for_update().get_or_create(
        **named,
        retired_at=None,
        defaults={
            "hash_kind": kind_of(version) if version else hashed.hash_kind,
            "tools": [tool.name for tool in tools],
            "declared_at": now,
            "declared_by": actor.name[:200],
            "key_prefix": actor.key_prefix,
            "route": actor.route,
            "address_hash": actor.address_hash,
            "last_used_at": now,
        },
    )
    if is_new:
        _record(standing, verb="toolset.declared", actor=actor)
    else:
        standing.last_used_at = max(standing.last_used_at, now)
        standing.save(update_fields=["last_used_at"])
    return standing, is_new


def _end_disused(now: datetime, **named: Any) -> None:
    """Let a standing that went out of use end when it did, before its version stands anew."""
    out_of_use = now - USE
    Toolset.objects.filter(**named, retired_at=None, last_used_at__lte=out_of_use).update(
        retired_at=F("last_used_at") + USE
    )


@transaction.atomic
def retire_toolset(
    *, app: App, version: str, actor: Actor, agent_id: str | None = None
) -> list[Toolset]:
    """Retire a version for one agent, or with None for every agent that declared it.

    Return what stood last, by agent. Retiring again changes nothing. Raises UnknownToolsetError.
    """
    declared = Toolset.objects.select_for_update().filter(app=app, version=version)
    if agent_id is not None:
        declared = declared.filter(agent_id=agent_id)
    latest = {toolset.agent_id: toolset for toolset in declared.order_by("declared_at", "id")}
    if not latest:
        raise UnknownToolsetError
    for toolset in latest.values():
        if toolset.retired_at is None:
            toolset.retired_at = clock.now()
            toolset.save(update_fields=["retired_at"])
            _record(toolset, verb="toolset.retired", actor=actor)
    return [latest[agent] for agent in sorted(latest)]


def _record(toolset: Toolset, *, verb: str, actor: Actor) -> None:
    audit.record(
        actor=actor,
        verb=verb,
        target_kind="toolset",
        target_id=toolset.id,
        app=toolset.app,
        after={
            "agent_id": toolset.agent_id,
            "version": toolset.version,
            "hash_kind": toolset.hash_kind,
        },
    )
