"""A source and what is to be shared of it, field by field. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curation.promotion.draft import argument_field, as_text, summary_field


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a source text; one that was taken out says as what and by which rule."""

    text: str
    kind: str = ""
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """One field. `source` None: there is no source to show. `draft` None: left out."""

    field: str
    source: Sequence[Segment] | None
    draft: str | None
    is_text: bool  # can be worded by hand; another can only be left out
    is_edited: bool = False

    @property
    def is_changed(self) -> bool:
        return self.is_edited or any(piece.kind for piece in self.source or ())


@dataclass(frozen=True, slots=True)
class StepPair:
    """A step with its argument and summary fields, as they are in the source and in the draft."""

    seq: int
    kind: str
    tool: str
    error: str
    is_important: bool
    arguments: Sequence[tuple[str, Pair]]
    summary: Pair | None


@dataclass(frozen=True, slots=True)
class Tally:
    """How often a rule took something out."""

    kind: str
    rule: str
    n: int


@dataclass(frozen=True, slots=True)
class SideBySide:
    goal: Pair
    steps: Sequence[StepPair]
    texts: Sequence[Pair]  # resolution, lesson
    labels: Sequence[Pair]  # issue type, agent
    taken_out: Sequence[Tally]


def side_by_side(
    *,
    source: Mapping[str, Any] | None,
    draft: Mapping[str, Any],
    redactions: Sequence[Mapping[str, Any]],
    edited: Iterable[str],
) -> SideBySide:
    """`source` and `draft` have goal, steps, resolution, lesson, issue_type and agent_id."""
    reader = _Reader(source, redactions, frozenset(edited))
    theirs = {step["seq"]: step for step in (source or {}).get("steps", ())}
    return SideBySide(
        goal=reader.pair("goal", draft["goal"]),
        steps=[reader.step(theirs.get(step["seq"]), step) for step in draft["steps"]],
        texts=[reader.pair(name, draft[name]) for name in ("resolution", "lesson")],
        labels=[
            reader.pair(name, draft[name] or None, is_text=False)
            for name in ("issue_type", "agent_id")
            if draft[name] or (source or {}).get(name)
        ],
        taken_out=[
            Tally(kind, rule, n)
            for (kind, rule), n in Counter(
                (one["kind"], one["rule"]) for one in redactions
            ).most_common()
        ],
    )


class _Reader:
    def __init__(
        self,
        source: Mapping[str, Any] | None,
        redactions: Sequence[Mapping[str, Any]],
        edited: frozenset[str],
    ) -> None:
        self.source = source
        self.edited = edited
        self.redactions: dict[str, list[Mapping[str, Any]]] = {}
        for one in redactions:
            self.redactions.setdefault(one["field"], []).append(one)

    def pair(self, field: str, draft: str | None, *, is_text: bool = True) -> Pair:
        text = None if self.source is None else str(self.source.get(field) or "")
        return self._made(field, text, draft, is_text=is_text)

    def step(self, theirs: Mapping[str, Any] | None, ours: Mapping[str, Any]) -> StepPair:
        own = ours.get("arguments", {})
        whole = theirs.get("arguments", {}) if theirs else own
        summary = summary_field(ours)
        before = theirs.get("summary") if theirs else None
        has_summary = bool(before or ours.get("summary"))
        return StepPair(
            seq=ours["seq"],
            kind=ours["kind"],
            tool=str(ours.get("tool") or ""),
            error=str(ours.get("error") or ""),
            is_important=bool(ours.get("important")),
            arguments=[
                (
                    name,
                    self._made(
                        argument_field(ours, name),
                        as_text(value) if theirs else None,
                        as_text(own[name]) if name in own else None,
                        is_text=False,
                    ),
                )
                for name, value in whole.items()
            ],
            summary=self._made(
                summary,
                str(before or "") if theirs else None,
                ours.get("summary"),
                is_text="summary" in ours,
            )
            if has_summary
            else None,
        )

    def _made(self, field: str, text: str | None, draft: str | None, *, is_text: bool) -> Pair:
        segments = None if text is None else cut(text, self.redactions.get(field, ()))
        return Pair(field, segments, draft, is_text, is_edited=field in self.edited)


def cut(text: str, redactions: Iterable[Mapping[str, Any]]) -> list[Segment]:
    """Return the text in pieces, those that were taken out marked."""
    pieces: list[Segment] = []
    done = 0
    for one in sorted(redactions, key=lambda each: each["start"]):
        start, end = max(one["start"], done), min(one["end"], len(text))
        if start >= end:
            continue
        if start > done:
            pieces.append(Segment(text[done:start]))
        pieces.append(Segment(text[start:end], one["kind"], one["rule"]))
        done = end
    if done < len(text):
        pieces.append(Segment(text[done:]))
    return pieces
