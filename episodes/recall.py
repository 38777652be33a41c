"""Answering an agent's search for precedent: embed, search and log in one statement, render."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
from psycopg.types.numeric import Int8

from episodes import search as statement
from episodes.enums import Arm, RecallMode
from episodes.ingest.storable import Storable
from episodes.keys.lookup import Caller
from episodes.query import Query, read_query
from episodes.render import render_context
from episodes.retention.expiry import write_rules
from episodes.served import render_served
from episodes.tombstones import lock_id, subject_hash
from episodes.toolsets import kind_of
from memoryadmin.lib import clock, ids

BOTH = "both"
AUTHOR = "episodic-memory"
FACTORS = (
    "similarity",
    "text",
    "relevance",
    "outcome_weight",
    "toolset_weight",
    "age_days",
    "decay",
    "score",
)


@dataclass(frozen=True, slots=True)
class Filters:
    issue_type: str | None = None
    agent_id: str | None = None
    tool: str | None = None
    error: str | None = None
    task_id: str | None = None
    tags: tuple[str, ...] = ()
    outcome: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    min_review: str | None = None

    def asked(self, storable: Callable[[str], str]) -> dict[str, Any]:
        """Return the parameters of the filters that are set, by the statement's names.

        Texts go through what episodes' own went through, so that they compare.
        """
        texts = {
            "issue_type": self.issue_type,
            "agent": self.agent_id,
            "task_id": self.task_id,
            "tool": self.tool,
            "error": self.error,
        }
        named: dict[str, object] = {
            **{name: None if text is None else storable(text) for name, text in texts.items()},
            "tags": [storable(tag) for tag in self.tags] or None,
            "outcome": list(self.outcome) or None,
            "since": self.since,
            "until": self.until,
            "reviewed": self.min_review,
        }
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A validated body of POST /search. `scope`: user, org or both; `limit` None: the profile's."""

    user_id: str
    query: str
    scope: str = BOTH
    limit: int | None = None
    session_id: str | None = None
    invocation_id: str | None = None
    agent_id: str = ""
    toolset_version: str = ""
    filters: Filters = field(default_factory=Filters)
    include_failures: bool = False
    explain: bool = False
    dry_run: bool = False


def search(
    *,
    caller: Caller,
    request: SearchRequest,
    request_id: str,
    route: str = "",
    address_hash: str = "",
) -> dict[str, object]:
    """Return the body of the answer (api.md, "Search"). Whatever returns content is logged, by
    the statement that found it. Never fails because an embedder does: `degraded` says so."""
    query = read_query(request.query, user_id=request.user_id, generation=caller.generation)
    arm = _arm(caller, request)
    values = parameters(
        caller=caller,
        request=request,
        query=query,
        arm=arm,
        request_id=request_id,
        route=route,
        address_hash=address_hash,
    )
    rows = statement.run(
        vector=query.vector,
        log=not request.dry_run,
        scope=request.scope,
        generation=caller.generation,
        parameters=values,
    )
    found = [row for row in rows if row["id"] is not None]
    served = [] if arm == Arm.CONTROL else found
    memories = [_memory(row, with_content=not request.dry_run) for row in served]
    answer: dict[str, object] = {
        "recall_id": None if request.dry_run or rows[0]["erased"] else values["recall"],
        "arm": arm,
        "recall_mode": RecallMode.APPROXIMATE if rows[0]["cut"] else RecallMode.EXACT,
        "degraded": query.degraded,
        "candidates": rows[0]["candidates"],
        "profile": caller.profile.label,
        "context": render_context(
            [str(memory["content"]) for memory in memories if "content" in memory]
        ),
        "memories": memories,
    }
    if request.explain or request.dry_run:
        for memory, row in zip(memories, served, strict=True):
            memory["factors"] = {name: row[name] for name in FACTORS}
        answer["excluded"] = rows[0]["excluded"]
    return answer


def _arm(caller: Caller, request: SearchRequest) -> Arm | None:
    """Return the arm of the session in its app's experiment, the same at every call; None
    without a session or an experiment."""
    if request.session_id is None or caller.control_share <= 0:
        return None
    identity = f"{caller.app_id}\0{request.user_id}\0{request.session_id}".encode()
    drawn = int.from_bytes(hashlib.sha256(identity).digest()[:8], "big") / 2**64
    return Arm.CONTROL if drawn < caller.control_share else Arm.TREATMENT


def parameters(
    *,
    caller: Caller,
    request: SearchRequest,
    query: Query,
    arm: Arm | None,
    request_id: str,
    route: str = "",
    address_hash: str = "",
) -> dict[str, Any]:
    """Return every value of the statement but the vector.

    Integers have one type whatever their size: psycopg prepares a statement anew for each mix.
    """
    now = clock.now()
    profile, cutoffs = caller.profile, caller.retention.at(now)
    storable = Storable(request.user_id).value
    filters = request.filters.asked(storable)
    own_toolset = [request.toolset_version] if request.toolset_version else []
    hashed = subject_hash(app_id=caller.app_id, user_id=request.user_id)
    own_session = {} if request.session_id is None else {"session": request.session_id}
    return {
        **filters,
        **own_session,  # a run is no precedent of itself
        **{name: getattr(profile, name) for name in statement.CONSTANTS},
        "app": Int8(caller.app_id),
        "subject_hash": hashed,
        "subject_lock": Int8(lock_id(hashed)),
        "subject": request.user_id,
        "now": now,
        **cutoffs.parameters(),
        "default_cutoff": cutoffs.default,
        "retention": orjson.dumps(write_rules(caller.retention_rules)).decode(),
        "window": Int8(profile.window),
        "limit": Int8(min(request.limit or profile.max_results, profile.max_results)),
        "include_failures": request.include_failures,
        "agent_id": storable(request.agent_id),
        "toolset_version": storable(request.toolset_version),
        "own_versions": own_toolset,
        "own_kinds": [kind_of(version) for version in own_toolset],
        "words": list(query.words),
        "tokens": list(query.tokens),
        "generation": Int8(caller.generation.id) if caller.generation else None,
        "recall": ids.new_id(now),
        "user": request.user_id,
        "own_session": request.session_id,
        "invocation": None if request.invocation_id is None else storable(request.invocation_id),
        "scope": request.scope,
        "query": query.text,
        "filters": orjson.dumps(filters).decode(),
        "profile": profile.label,
        "arm": arm,
        "degraded": query.degraded,
        "explained": request.explain,
        "served": arm != Arm.CONTROL,
        "key_prefix": caller.prefix,
        "route": route,
        "address_hash": address_hash,
        "request_id": request_id,
    }


def _memory(row: dict[str, Any], *, with_content: bool) -> dict[str, object]:
    memory: dict[str, object] = {
        "episode_id": row["id"],
        "revision": row["revision"],
        "scope": row["scope"],
        "author": AUTHOR,
        "timestamp": row["completed_at"],
        "outcome": row["outcome"],
        "outcome_source": row["outcome_source"],
        "reviewed": row["review_state"] == "reviewed",
        "toolset": row["toolset"],
        "similarity": row["similarity"],
        "score": row["score"],
    }
    if with_content:
        served = render_served(
            outcome=row["outcome"],
            outcome_source=row["outcome_source"],
            completed_at=row["completed_at"],
            scope=row["scope"],
            goal=row["goal"],
            steps=row["steps"],
            resolution=row["resolution"],
            lesson=row["lesson"],
            lesson_source=row["lesson_source"],
            tools=row["tools"],
            errors=row["errors"],
        )
        memory["content"] = served.content
        memory["lesson"] = served.lesson
        memory["tools"] = row["tools"]
    return memory
