"""What is evidence of an incident: everything that its pages show, as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.forms.models import model_to_dict

from curation.evidence.package import Item, Package
from curation.models import IncidentEvent
from curation.reading.ancestry import read_ancestry
from curation.reading.as_of import Compared, Side, compare_as_of
from curation.reading.incident_backwards import Backwards, Recalled, read_backwards
from curation.reading.incident_forwards import read_forwards
from curation.reading.incidents import IncidentPage
from episodes.audit import Actor
from episodes.models import Block, Episode, EpisodeRevision, Member, OutcomeEntry, Serving
from episodes.past.as_of import profile_then
from memoryadmin.lib import clock

# Searches that are asked again as of their own time and now; each takes a second at worst.
MOST_ASKED_AGAIN = 20


def collect_evidence(*, member: Member, page: IncidentPage, actor: Actor) -> Package:
    """Return the package of an incident as it is now."""
    backwards = read_backwards(member=member, roots=page.roots)
    items = [
        _incident(page),
        *(_event(event) for event in page.events),
        *(_recall(one) for one in backwards.recalled),
        *_revisions(backwards),
        *_episodes(member, backwards),
        _ancestry(member, backwards),
        _reach(member, page, backwards),
        *_as_of(member, backwards),
    ]
    about = {
        "incident": str(page.incident.id),
        "app": member.app.name,
        "exported_at": _plain(clock.now()),
        "exported_by": actor.name,
        "role": actor.role,
    }
    return Package(about, items)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: times in UTC, ids as text."""
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case UUID():
            return str(value)
        case memoryview() | bytes():
            return bytes(value).hex()
        case dict():
            return {str(name): _plain(one) for name, one in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_plain(one) for one in value]
    return value


def _columns(row: Any, *names: str) -> dict[str, Any]:
    return {name: _plain(getattr(row, name)) for name in names}


def _incident(page: IncidentPage) -> Item:
    told = _plain(model_to_dict(page.incident, exclude=["app"]))
    told |= {"id": str(page.incident.id)}
    told["people"] = [_columns(one, "name", "added_at", "added_by") for one in page.people]
    told["links"] = [
        _columns(one, "kind", "target_id", "user_id", "added_at", "added_by") for one in page.links
    ]
    return Item("incident", "incident", told)


def _event(event: IncidentEvent) -> Item:
    told = _columns(event, "kind", "at", "by", "role", "text", "detail", "user_id")
    return Item(f"event:{event.id}", "event", told)


_RECALL = (
    "id",
    "recalled_at",
    "user_id",
    "session_id",
    "invocation_id",
    "agent_id",
    "scope",
    "query",
    "query_tokens",
    "filters",
    "toolset_version",
    "result_limit",
    "cutoff",
    "include_failures",
    "generation_id",
    "arm",
    "mode",
    "degraded",
    "candidates",
    "excluded",
    "key_prefix",
    "request_id",
)
_HIT = (
    "rank",
    "served",
    "episode_id",
    "revision",
    "scope",
    "content_hash",
    "outcome",
    "outcome_source",
    "reviewed",
    "completed_at",
    "similarity",
    "text",
    "relevance",
    "outcome_weight",
    "toolset",
    "toolset_weight",
    "age_days",
    "decay",
    "score",
)


def _recall(one: Recalled) -> Item:
    """The search with its constants, and what it was given, word for word."""
    told = _columns(one.recall, *_RECALL)
    told["profile"] = asdict(profile_then(one.recall))
    told["hits"] = [
        _columns(precedent.given.hit, *_HIT)
        | {
            "as_read": precedent.given.content,
            "is_as_served": precedent.is_as_served,
            "now": list(precedent.given.now.fates),
        }
        for precedent in one.precedents
    ]
    return Item(f"recall:{one.recall.id}", "recall", told)


_REVISION = (
    "episode_id",
    "revision",
    "user_id",
    "goal",
    "steps",
    "resolution",
    "lesson",
    "lesson_source",
    "agent_id",
    "task_id",
    "issue_type",
    "tags",
    "started_at",
    "recorded_outcome",
    "outcome_reason",
    "score",
    "toolset_version",
    "toolset_kind",
    "tools",
    "errors",
    "procedure_key",
    "content_hash",
    "format",
    "written_at",
    "written_by",
    "key_prefix",
    "route",
    "address_hash",
)


def _revisions(backwards: Backwards) -> Iterator[Item]:
    """What was served, each revision once."""
    seen: dict[str, EpisodeRevision] = {}
    for recalled in backwards.recalled:
        for one in recalled.precedents:
            revision = one.given.revision
            if revision is not None:
                seen.setdefault(f"revision:{revision.episode_id}@{revision.revision}", revision)
    for name, revision in seen.items():
        yield Item(name, "revision", _columns(revision, *_REVISION))


_EPISODE = (
    "id",
    "scope",
    "user_id",
    "session_id",
    "episode_key",
    "origin",
    "state",
    "recall_state",
    "review_state",
    "outcome",
    "outcome_source",
    "revision",
    "n_revisions",
    "agent_id",
    "task_id",
    "completed_at",
    "received_at",
)
_ENTRY = ("seq", "revision", "outcome", "source", "reason", "evidence", "retracts", "stated_by")
_BLOCK = ("kind", "revision", "change_id", "reason", "opened_at", "opened_by", "closed_at")


def _episodes(member: Member, backwards: Backwards) -> Iterator[Item]:
    """Precedents and what the runs wrote: how they stand, and every statement, block and serving."""
    ids = {*backwards.given_ids, *(one.id for one in backwards.wrote)}
    of_them = {"app_id": member.app_id, "episode_id__in": ids}
    entries = list(OutcomeEntry.objects.filter(**of_them).order_by("seq"))
    blocks = list(Block.objects.filter(**of_them).order_by("opened_at", "id"))
    servings = list(Serving.objects.filter(**of_them).order_by("served_from", "id"))
    for head in Episode.objects.visible_to(member).filter(id__in=ids).order_by("received_at", "id"):
        told = _columns(head, *_EPISODE)
        told["statements"] = [
            _columns(one, "id", *_ENTRY, "at") for one in entries if one.episode_id == head.id
        ]
        told["blocks"] = [
            _columns(one, *_BLOCK, "closed_by") for one in blocks if one.episode_id == head.id
        ]
        told["served"] = [
            _columns(one, "revision", "served_from", "served_to")
            for one in servings
            if one.episode_id == head.id
        ]
        yield Item(f"episode:{head.id}", "episode", told)


def _ancestry(member: Member, backwards: Backwards) -> Item:
    found = read_ancestry(member=member, episode_ids=backwards.given_ids)
    told = [
        _columns(one, "depth", "episode_id", "child_id", "recall_id", "recalled_at", "outcome")
        | {"outcome_source": one.outcome_source, "exists": one.head is not None}
        for one in found.ancestors
    ]
    return Item("ancestry", "ancestry", {"ancestors": told, "is_cut": found.is_cut})


def _reach(member: Member, page: IncidentPage, backwards: Backwards) -> Item:
    found = read_forwards(member=member, roots=page.roots, backwards=backwards)
    told = {
        "roots": _plain([one.episode_id for one in found.suspects if one.is_followed]),
        "withheld": found.reach.withheld,
        "is_cut": found.reach.cut,
        "episodes": [_plain(asdict(node)) for node in found.reach.nodes],
        "sessions": [_plain(asdict(session)) for session in found.reach.sessions],
    }
    return Item("reach", "reach", told)


def _as_of(member: Member, backwards: Backwards) -> Iterator[Item]:
    for one in backwards.recalled[:MOST_ASKED_AGAIN]:
        compared = compare_as_of(member=member, recall=one.recall, moment=one.recall.recalled_at)
        yield Item(f"as_of:{one.recall.id}", "as_of", _compared(compared))


def _compared(compared: Compared) -> dict[str, Any]:
    return {
        "recall": str(compared.recall.id),
        "query": compared.recall.query,
        "agrees_with_log": compared.agrees,
        "then": _plain(compared.then.moment),
        "now": _plain(compared.now.moment),
        "since_erased": compared.then.gone,
        "is_exact": compared.then.is_exact,
        "without_similarity": compared.then.without_similarity,
        "episodes": [
            {
                "episode_id": str(line.episode_id),
                "then": _side(line.then),
                "now": _side(line.now),
            }
            for line in compared.lines
        ],
    }


def _side(side: Side) -> dict[str, Any]:
    told: dict[str, Any] = {"rank": side.rank, "reason": side.reason}
    if side.found is not None:
        told |= asdict(side.found.factors)
        told |= _columns(side.found, "revision", "content_hash", "is_reviewed")
        told |= _columns(side.found.candidate, "outcome", "outcome_source", "similarity", "text")
    return told
