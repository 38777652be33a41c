"""Declaring which tools an agent has now, and retiring what it has no longer.

*Current* is a set per app and agent, so that a rolling deployment does not retire itself: what was
declared, is not retired and was used within a week (episodes/search.py reads it that way).
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from episodes import audit
from episodes.audit import Actor
from episodes.models import App, Toolset
from episodes.toolset_hash import Tool, hash_tools, kind_of
from memoryadmin.lib import clock

__all__ = ["UnknownToolsetError", "declare_toolset", "kind_of", "retire_toolset"]


class UnknownToolsetError(Exception):
    """The app never declared such a version."""


@transaction.atomic
def declare_toolset(
    *, app: App, tools: Sequence[Tool], actor: Actor, agent_id: str = "", version: str = ""
) -> tuple[Toolset, bool]:
    """Make a toolset current; return it and whether it was not so before.

    `version` is the caller's own name for it; by default it is the hash of the tools. Declaring a
    retired version again brings it back. Raises DuplicateToolError.
    """
    hashed = hash_tools(tools)
    now = clock.now()
    declared, is_new = Toolset.objects.select_for_update().get_or_create(
        app=app,
        agent_id=agent_id,
        version=version or hashed.version,
        defaults={
            "hash_kind": kind_of(version) if version else hashed.hash_kind,
            "tools": [tool.name for tool in tools],
            "declared_at": now,
            "declared_by": actor.name[:200],
            "last_used_at": now,
        },
    )
    was_retired = declared.retired_at is not None
    if not is_new:
        declared.last_used_at, declared.retired_at = now, None
        declared.save(update_fields=["last_used_at", "retired_at"])
    if is_new or was_retired:
        _record(declared, verb="toolset.declared", actor=actor)
    return declared, is_new or was_retired


@transaction.atomic
def retire_toolset(
    *, app: App, version: str, actor: Actor, agent_id: str | None = None
) -> list[Toolset]:
    """Retire a version for one agent, or with None for every agent that declared it.

    Retiring again changes nothing. Raises UnknownToolsetError.
    """
    declared = Toolset.objects.select_for_update().filter(app=app, version=version)
    if agent_id is not None:
        declared = declared.filter(agent_id=agent_id)
    found = list(declared.order_by("agent_id"))
    if not found:
        raise UnknownToolsetError
    for toolset in found:
        if toolset.retired_at is None:
            toolset.retired_at = clock.now()
            toolset.save(update_fields=["retired_at"])
            _record(toolset, verb="toolset.retired", actor=actor)
    return found


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
