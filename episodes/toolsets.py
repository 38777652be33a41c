"""Declaring which tools an agent has now, and retiring what it has no longer.

*Current* is a set per app and agent, so that a rolling deployment does not retire itself: what was
declared, is not retired and was used within a week (episodes/models/toolset.py). What went out of use
is not current again by being used: that takes a declaration, which a plain key cannot make.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import F, QuerySet

from episodes import audit
from episodes.audit import Actor
from episodes.models import App, Toolset
from episodes.models.toolset import USE
from episodes.toolset_hash import Tool, hash_tools, kind_of
from memoryadmin.lib import clock

__all__ = ["UnknownToolsetError", "declare_toolset", "kind_of", "retire_toolset", "use_toolset"]

# A use is written down at most so often.
NOTED_AFTER = timedelta(hours=1)


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
    _end_disused(Toolset.objects.filter(**named))
    standing, is_new = Toolset.objects.select_for_update().get_or_create(
        **named,
        retired_at=None,
        defaults={
            "hash_kind": kind_of(version) if version else hashed.hash_kind,
            "tools": [tool.name for tool in tools],
            "declared_at": now,
            "declared_by": actor.name,
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


def use_toolset(*, app: App, agent_id: str, version: str) -> None:
    """Keep a declared version current while its episodes come in.

    What is out of use stays so, or a key that may not declare would make it current, and the week
    between would seem never to have been.
    """
    now = clock.now()
    Toolset.objects.in_use(now).filter(
        app=app,
        agent_id__in=("", agent_id),  # '' is any agent
        version=version,
        last_used_at__lt=now - NOTED_AFTER,
    ).update(last_used_at=now)


def _end_disused(toolsets: QuerySet[Toolset]) -> None:
    """Let a standing that went out of use end when it did, before anything is said of it."""
    toolsets.filter(retired_at=None, last_used_at__lte=clock.now() - USE).update(
        retired_at=F("last_used_at") + USE
    )


@transaction.atomic
def retire_toolset(
    *, app: App, version: str, actor: Actor, agent_id: str | None = None
) -> list[Toolset]:
    """Retire a version for one agent, or with None for every agent that declared it.

    Return what stood last, by agent. Retiring again changes nothing. Raises UnknownToolsetError.
    """
    declared = Toolset.objects.filter(app=app, version=version)
    if agent_id is not None:
        declared = declared.filter(agent_id=agent_id)
    _end_disused(declared)
    in_order = declared.select_for_update().order_by("declared_at", "id")
    latest = {toolset.agent_id: toolset for toolset in in_order}
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
