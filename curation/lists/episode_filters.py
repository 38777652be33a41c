"""The filters of the list of episodes: out of the address, into the query, and back into links."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.postgres.search import SearchQuery
from django.db.models import Exists, OuterRef, Q
from django.http import QueryDict

from curation import words
from curation.lists.episode_form import NOBODY, STATES, EpisodeFilterForm
from episodes.enums import (
    AUTHORITIES,
    BlockKind,
    IndexState,
    Outcome,
    OutcomeSource,
    RecallState,
    ReviewState,
    State,
)
from episodes.models import EpisodeQuerySet, EpisodeRevision, kept_out_by, newer_is_held
from episodes.tokens import fts_terms

# Columns of the head that a filter of the same name compares by equality.
_HEAD = {
    "user_id": "user_id",
    "session_id": "session_id",
    "task_id": "task_id",
    "agent_id": "agent_id",
    "issue_type": "issue_type",
    "toolset": "toolset_version",
    "procedure": "procedure_key",
}
_LABELS = {name: str(field.label) for name, field in EpisodeFilterForm.base_fields.items()}
_SORT = {"received": "received_at", "completed": "completed_at"}


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter that is on, and the address without it."""

    label: str
    value: str
    without: str


@dataclass(frozen=True, slots=True)
class Preset:
    label: str
    query: str
    is_current: bool


PRESETS: tuple[tuple[str, dict[str, list[str]]], ...] = (
    ("All", {}),
    ("Not verified", {"verified": ["no"], "state": ["completed"]}),
    ("Contradicted", {"state": ["contradicted"]}),
    ("Changed after review", {"review": ["changed_after_review"]}),
    ("Blocked", {"state": ["blocked"]}),
    ("Failures", {"outcome": ["failure"]}),
    ("Open", {"state": ["open"]}),
)


class Filters:
    """A valid form's filters. What is empty is not in `asked`."""

    def __init__(self, cleaned: dict[str, Any]) -> None:
        self.sort = _SORT[cleaned["sort"] or "received"]
        self.asked = {
            name: value
            for name, value in cleaned.items()
            if name != "sort" and value not in ("", None, [])
        }

    @property
    def has_no_words(self) -> bool:
        """A search was asked for that has nothing to look for in it."""
        q = self.asked.get("q")
        return q is not None and _as_uuid(q) is None and not fts_terms(q)

    def apply(self, rows: EpisodeQuerySet) -> EpisodeQuerySet:
        asked = self.asked
        if self.sort == "completed_at":
            rows = rows.completed()
        rows = rows.filter(
            **{column: asked[name] for name, column in _HEAD.items() if name in asked}
        )
        rows = self._by_outcome(rows)
        if "review" in asked:
            rows = rows.filter(review_state__in=asked["review"])
        if "state" in asked:
            rows = rows.filter(_STATES[asked["state"]])
        if "tag" in asked:
            rows = rows.filter(tags__contains=[asked["tag"]])
        if "key" in asked:
            rows = rows.filter(written_by_key(asked["key"]))
        if "since" in asked:
            rows = rows.filter(completed_at__gte=_midnight(asked["since"]))
        if "until" in asked:
            rows = rows.filter(completed_at__lt=_midnight(asked["until"]))
        return self._by_evidence(rows)

    def _by_outcome(self, rows: EpisodeQuerySet) -> EpisodeQuerySet:
        asked = self.asked
        if "outcome" in asked:
            rows = rows.filter(outcome__in=asked["outcome"])
        if "source" in asked:
            said = Q(outcome_source__in=[name for name in asked["source"] if name != NOBODY])
            nobody = Q(outcome_source__isnull=True)
            rows = rows.filter(said | nobody if NOBODY in asked["source"] else said)
        if asked.get("verified") == "yes":
            rows = rows.filter(outcome_source__in=AUTHORITIES)
        elif asked.get("verified") == "no":
            rows = rows.filter(NOT_VERIFIED)
        return rows

    def _by_evidence(self, rows: EpisodeQuerySet) -> EpisodeQuerySet:
        """What stands in the served revision is compared there, and only joined when asked for."""
        asked = self.asked
        if not asked.keys() & {"q", "tool", "error"}:
            return rows
        wanted = Q()
        if "tool" in asked:
            wanted &= Q(served__tools__contains=[asked["tool"]])
        if "error" in asked:
            wanted &= Q(served__errors__contains=[asked["error"]])
        if "q" in asked:
            wanted &= _matches(asked["q"])
        return rows.with_served().filter(wanted)


# An unknown source is none of the authorities; `NOT (x IN …)` alone would lose its nulls.
NOT_VERIFIED = Q(outcome_source__isnull=True) | ~Q(outcome_source__in=AUTHORITIES)


def written_by_key(prefix: str) -> Exists:
    """A revision of the episode came in with this key."""
    return Exists(
        EpisodeRevision.objects.filter(
            app_id=OuterRef("app_id"), episode_id=OuterRef("id"), key_prefix=prefix
        )
    )


_STATES: dict[str, Q | Exists] = {
    "open": Q(state=State.OPEN),
    "completed": Q(state=State.COMPLETED),
    "recallable": Q(state=State.COMPLETED, recall_state=RecallState.RECALLABLE),
    "blocked": Q(recall_state=RecallState.BLOCKED),
    "held": kept_out_by(BlockKind.HELD),
    "newer_held": newer_is_held(),
    "quarantined": kept_out_by(BlockKind.QUARANTINE),
    "pending": Q(index_state=IndexState.PENDING),
    "contradicted": Q(contradicted=True),
}


def _matches(q: str) -> Q:
    """Every word, or the episode whose id it is."""
    found = _as_uuid(q)
    if found is not None:
        return Q(id=found)
    terms = fts_terms(q)
    if not terms:
        return Q(id__in=[])
    wanted = SearchQuery(terms[0], config="simple", search_type="phrase")
    for term in terms[1:]:
        wanted = wanted & SearchQuery(term, config="simple", search_type="phrase")
    return Q(served__search=wanted)


def _as_uuid(text: str) -> UUID | None:
    try:
        return UUID(text.strip())
    except ValueError:
        return None


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def chips(asked: QueryDict) -> list[Chip]:
    """Return one for each value that narrows the list, in the order of the form."""
    found = []
    for name in _LABELS:
        for value in asked.getlist(name) if name not in {"q", "sort"} else ():
            if value:
                found.append(
                    Chip(_chip_label(name), _spoken(name, value), _without(asked, name, value))
                )
    return found


def _chip_label(name: str) -> str:
    return _LABELS[name].removesuffix(" (UTC)")


def _spoken(name: str, value: str) -> str:
    match name:
        case "outcome" if value in Outcome.values:
            return words.OUTCOMES[Outcome(value)].label
        case "source" if value in OutcomeSource.values:
            return words.SOURCES[OutcomeSource(value)].label
        case "review" if value in ReviewState.values:
            return words.REVIEWS[ReviewState(value)].label
        case "source" | "verified":
            return {NOBODY: words.NOBODY.label}.get(value, value)
        case "state":
            return dict(STATES).get(value, value)
        case "procedure":
            return value[:12]
    return value


def _without(asked: QueryDict, name: str, value: str) -> str:
    return f"?{urlencode([one for one in _kept(asked) if one != (name, value)])}"


def _kept(asked: QueryDict) -> list[tuple[str, str]]:
    """What the address says, but for the page; a field that was left empty says nothing."""
    return [
        (name, value)
        for name, values in asked.lists()
        for value in values
        if value and (name, value) != ("sort", "received") and name != "page"
    ]


def short_address(path: str, asked: QueryDict) -> str:
    """Return the address to keep of a list: as short as it can be, with the same rows behind it."""
    page = [("page", asked["page"])] if asked.get("page") else []
    kept = [*_kept(asked), *page]
    return f"{path}?{urlencode(kept)}" if kept else path


def presets(asked: QueryDict) -> list[Preset]:
    """Return the usual questions; one is current when the address asks exactly that."""
    narrowing = {
        key: values
        for key, values in asked.lists()
        if key not in {"sort", "page"} and any(values) and key in _LABELS
    }
    return [
        Preset(label, f"?{urlencode(wanted, doseq=True)}", narrowing == wanted)
        for label, wanted in PRESETS
    ]


def page_link(asked: QueryDict, cursor: str | None) -> str | None:
    """Return the address of another page of the same list."""
    if cursor is None:
        return None
    return f"?{urlencode([*_kept(asked), ('page', cursor)])}"
