"""Answering an agent's search for precedent: embed, search and log in one statement, render."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings

from episodes import search as statement
from episodes.embedding.base import EmbeddingError
from episodes.embedding.generations import embedder_for
from episodes.embedding.text import embedding_text
from episodes.enums import Arm, LessonSource, RecallMode, Scope
from episodes.ingest.subject import Subject
from episodes.keys import Caller
from episodes.lesson import template_lesson
from episodes.ranking import Profile
from episodes.redact import mask
from episodes.render import render_context, render_memory
from episodes.tokens import fts_terms, identifier_tokens
from episodes.toolsets import kind_of
from episodes.wire import QueryVector
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

    def asked(self) -> dict[str, object]:
        """Return the parameters of the filters that are set, by the statement's names."""
        named: dict[str, object] = {
            "issue_type": self.issue_type,
            "agent": self.agent_id,
            "task_id": self.task_id,
            "tool": self.tool,
            "error": self.error,
            "tags": list(self.tags) or None,
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


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the statement needs of the query, all of it from the masked text."""

    query: str
    words: tuple[str, ...]
    tokens: tuple[str, ...]
    vector: QueryVector | None
    degraded: bool


def search(*, caller: Caller, request: SearchRequest, request_id: str) -> dict[str, object]:
    """Return the body of the answer (api.md, "Search"). Whatever returns content is logged, by
    the statement that found it. Never fails because an embedder does: `degraded` says so."""
    asked = _read_query(caller, request)
    now = clock.now()
    recall_id = ids.new_id()
    arm = _arm(caller, request)
    filters = request.filters.asked()
    if request.session_id is not None:
        filters["session"] = request.session_id  # a run is no precedent of itself
    rows = statement.run(
        vector=asked.vector,
        log=not request.dry_run,
        filters=frozenset(filters),
        parameters={
            **filters,
            **_constants(caller.profile),
            **_log_values(caller, request, asked, arm=arm, recall_id=recall_id),
            "app": caller.app_id,
            # Nothing is shared with the organisation yet: its scope holds no rows.
            "subject": None if request.scope == Scope.ORG else request.user_id,
            "now": now,
            "cutoff": now - timedelta(days=caller.retention_days),
            "agent_id": request.agent_id,
            "toolset_version": request.toolset_version,
            "toolset_kind": kind_of(request.toolset_version),
            "words": list(asked.words),
            "tokens": list(asked.tokens),
            "generation": caller.generation.id if caller.generation else None,
            "include_failures": request.include_failures,
            "limit": min(request.limit or caller.profile.max_results, caller.profile.max_results),
            "request_id": request_id,
        },
    )
    found = [row for row in rows if row["id"] is not None]
    served = [] if arm == Arm.CONTROL else found
    memories = [_memory(row, with_content=not request.dry_run) for row in served]
    answer: dict[str, object] = {
        "recall_id": None if request.dry_run else recall_id,
        "arm": arm,
        "recall_mode": RecallMode.APPROXIMATE if rows[0]["cut"] else RecallMode.EXACT,
        "degraded": asked.degraded,
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


def _read_query(caller: Caller, request: SearchRequest) -> _Asked:
    """Mask the query before anything is made of it: what episodes hold was masked alike."""
    query = Subject(request.user_id).scrub(mask(request.query).text)
    vector, degraded = _embed(caller, query)
    return _Asked(query, fts_terms(query), identifier_tokens(query), vector, degraded)


def _embed(caller: Caller, query: str) -> tuple[QueryVector | None, bool]:
    """Return the query's vector in the app's generation, and whether search must do without it
    although the query has one. An embedder that fails or is late never fails the search."""
    generation = caller.generation
    embedder = embedder_for(generation.name) if generation else None
    if embedder is None:
        return None, True
    try:
        [values] = embedder.embed(
            [embedding_text(query, "")], timeout=settings.SEARCH_EMBED_SECONDS
        )
    except EmbeddingError:
        return None, True
    return (None if values is None else QueryVector(values)), False


def _arm(caller: Caller, request: SearchRequest) -> Arm | None:
    """Return the arm of the session in its app's experiment, the same at every call; None
    without a session or an experiment."""
    if request.session_id is None or caller.control_share <= 0:
        return None
    identity = f"{caller.app_id}\0{request.user_id}\0{request.session_id}".encode()
    drawn = int.from_bytes(hashlib.sha256(identity).digest()[:8], "big") / 2**64
    return Arm.CONTROL if drawn < caller.control_share else Arm.TREATMENT


def _constants(profile: Profile) -> dict[str, object]:
    names = (*OUTCOME_WEIGHTS, *TOOLSET_WEIGHTS, *RULE_CONSTANTS)
    return {name: getattr(profile, name) for name in names}


OUTCOME_WEIGHTS = ("success", "partial", "failure", "escalated", "unknown", "abandoned")
TOOLSET_WEIGHTS = ("toolset_current", "toolset_other", "toolset_unknown")
RULE_CONSTANTS = (
    "decay_days",
    "identifier_weight",
    "text_weight",
    "minimum",
    "text_minimum",
    "failure_threshold",
    "window",
)


def _log_values(
    caller: Caller, request: SearchRequest, asked: _Asked, *, arm: Arm | None, recall_id: UUID
) -> dict[str, object]:
    filters = {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in request.filters.asked().items()
    }
    return {
        "recall": recall_id,
        "user": request.user_id,
        "own_session": request.session_id,
        "invocation": request.invocation_id,
        "scope": request.scope,
        "query": asked.query,
        "filters": orjson.dumps(filters).decode(),
        "profile": caller.profile.label,
        "arm": arm,
        "degraded": asked.degraded,
        "explained": request.explain,
        "served": arm != Arm.CONTROL,
        "key_prefix": caller.prefix,
    }


def _memory(row: dict[str, Any], *, with_content: bool) -> dict[str, object]:
    memory: dict[str, object] = {
        "episode_id": row["id"],
        "revision": row["revision"],
        "scope": Scope.USER,
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
        lesson = _lesson(row)
        memory["content"] = render_memory(
            outcome=row["outcome"],
            outcome_source=row["outcome_source"],
            completed_at=row["completed_at"],
            scope=Scope.USER,
            goal=row["goal"],
            steps=row["steps"],
            resolution=row["resolution"],
            lesson=lesson,
        )
        memory["lesson"] = lesson
        memory["tools"] = row["tools"]
    return memory


def _lesson(row: dict[str, Any]) -> str:
    """Return the lesson; the template's follows the outcome as it is now, not as recorded."""
    if row["lesson_source"] != LessonSource.TEMPLATE:
        return str(row["lesson"])
    return template_lesson(
        goal=row["goal"], tools=row["tools"], errors=row["errors"], outcome=row["outcome"]
    )
