"""The texts of a precedent, field by field, and what identifies in them. Knows no database.

A field is named `goal`, `resolution`, `lesson`, `issue_type`, `agent_id`, `steps.<seq>.summary` or
`steps.<seq>.arguments.<name>`; the leak scan also reads `steps.<seq>.tool`, `steps.<seq>.error`
and `steps.<seq>.names`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from curation.anonymise import Known, Rare, Redaction, anonymise, find_leaks, names_in
from episodes.enums import HashKind, LessonSource
from episodes.lesson import template_lesson

Step = dict[str, Any]
TEXTS = ("goal", "resolution", "lesson")
LABELS = ("issue_type", "agent_id")


@dataclass(frozen=True, slots=True)
class Draft:
    """`redactions` are offsets into the source; `dropped` names fields that are left out whole."""

    goal: str
    steps: list[Step]
    resolution: str
    lesson: str
    lesson_source: str
    issue_type: str
    agent_id: str
    toolset_version: str
    toolset_kind: str
    redactions: tuple[Redaction, ...] = ()
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """What the leak scan sees in a field of the draft. `key` names it in a form."""

    field: str
    start: int
    end: int
    kind: str
    rule: str

    @property
    def key(self) -> str:
        return f"{self.field}:{self.start}-{self.end}:{self.kind}"


def summary_field(step: Mapping[str, Any]) -> str:
    return f"steps.{step['seq']}.summary"


def argument_field(step: Mapping[str, Any], name: str) -> str:
    return f"steps.{step['seq']}.arguments.{name}"


def texts_of(draft: Draft) -> dict[str, str]:
    """Return what can be edited by hand, in the order of the page; what is empty is there, too."""
    summaries = {summary_field(step): step["summary"] for step in draft.steps if "summary" in step}
    return {"goal": draft.goal, **summaries, "resolution": draft.resolution, "lesson": draft.lesson}


def names_of(steps: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """Return the tools and codes of a trace, in lower case: what makes it a procedure."""
    named = {
        str(step[part]).lower() for step in steps for part in ("tool", "error") if part in step
    }
    return frozenset(named)


def anonymise_draft(source: Draft, *, outcome: str, known: Known, rare: Rare) -> Draft:
    """Take out of every text what identifies; an argument that identifies goes as a whole.

    Tools, codes and arguments' names stay, in texts too: without them it is no procedure. The leak scan reads them.
    """
    told = names_in(text for text in texts_of(source).values() if text)
    redactor = _Redactor(Known(known.values | told), _without(rare, names_of(source.steps)))
    goal = redactor.text("goal", source.goal)
    steps = [redactor.step(step) for step in source.steps]
    resolution = redactor.text("resolution", source.resolution)
    version = source.toolset_version
    if source.toolset_kind == HashKind.OPAQUE:  # the others are hashes of tools
        version = redactor.label("toolset_version", version)
    made = replace(
        source,
        goal=goal,
        steps=steps,
        resolution=resolution,
        lesson="",
        issue_type=redactor.label("issue_type", source.issue_type),
        agent_id=redactor.label("agent_id", source.agent_id),
        toolset_version=version,
    )
    if source.lesson_source == LessonSource.TEMPLATE:
        lesson = lesson_of(made, outcome=outcome)
    else:
        lesson = redactor.text("lesson", source.lesson)
    return replace(
        made, lesson=lesson, redactions=tuple(redactor.found), dropped=tuple(redactor.dropped)
    )


def lesson_of(draft: Draft, *, outcome: str) -> str:
    """Return the lesson that the draft's own goal, tools and codes make."""
    calls = [step["tool"] for step in draft.steps if step["kind"] == "call"]
    errors = [step["error"] for step in draft.steps if "error" in step]
    return template_lesson(
        goal=draft.goal,
        tools=list(dict.fromkeys(calls)),
        errors=list(dict.fromkeys(errors)),
        outcome=outcome,
    )


def find_in_draft(draft: Draft, *, known: Known, rare: Rare) -> list[Finding]:
    """Return the leak scan of everything that would be published, in the order of the page."""
    quiet = _without(rare, names_of(draft.steps))
    found: list[Finding] = []
    for field, text in texts_of(draft).items():
        found += _findings(field, text, known, quiet)
    for name in LABELS:
        found += _findings(name, getattr(draft, name), known, rare)
    seen: set[str] = set()
    for step in draft.steps:
        for part in ("tool", "error"):
            text = str(step.get(part, ""))
            if text and text not in seen:
                seen.add(text)
                found += _findings(f"steps.{step['seq']}.{part}", text, known, rare)
        for name, value in step.get("arguments", {}).items():
            found += _findings(argument_field(step, name), as_text(value), known, quiet)
            if name not in seen:
                # no index knows how many use an argument's name, so only the other rules read it
                seen.add(name)
                spelled = name.replace("_", " ")
                found += _findings(f"steps.{step['seq']}.names", spelled, known, _nothing_is_rare)
    return found


def edit_steps(
    steps: Sequence[Step], *, summaries: Mapping[str, str], dropped: Iterable[str]
) -> list[Step]:
    """Return the steps with other summaries (an empty one goes), and without some arguments."""
    gone = set(dropped)
    edited: list[Step] = []
    for step in steps:
        kept = dict(step)
        if (summary := summaries.get(summary_field(step))) is not None:
            kept["summary"] = summary
            if not summary:
                del kept["summary"]
        arguments = {
            name: value
            for name, value in step.get("arguments", {}).items()
            if argument_field(step, name) not in gone
        }
        if arguments:
            kept["arguments"] = arguments
        else:
            kept.pop("arguments", None)
        edited.append(kept)
    return edited


def fields_of(draft: Draft) -> frozenset[str]:
    """Return every field that a person may change: texts, and arguments that can be left out."""
    arguments = {
        argument_field(step, name) for step in draft.steps for name in step.get("arguments", {})
    }
    return frozenset(texts_of(draft)) | arguments


def as_text(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


class _Redactor:
    def __init__(self, known: Known, rare: Rare) -> None:
        self.known = known
        self.rare = rare
        self.found: list[Redaction] = []
        self.dropped: list[str] = []

    def text(self, field: str, text: str) -> str:
        if not text:
            return ""
        made = anonymise(text, field=field, known=self.known, rare=self.rare)
        self.found += made.redactions
        return made.text

    def label(self, field: str, text: str) -> str:
        """A word of the caller's own: kept as it is, or not at all."""
        return "" if self._identifies(field, text) else text

    def step(self, source: Mapping[str, Any]) -> Step:
        step = {name: value for name, value in source.items() if name not in {"at", "arguments"}}
        if "summary" in source:
            step["summary"] = self.text(summary_field(source), source["summary"])
        arguments = {
            name: value
            for name, value in source.get("arguments", {}).items()
            if not self._identifies(argument_field(source, name), as_text(value))
        }
        return step | ({"arguments": arguments} if arguments else {})

    def _identifies(self, field: str, text: str) -> bool:
        made = anonymise(text, field=field, known=self.known, rare=self.rare)
        if made.redactions:
            self.found += made.redactions
            self.dropped.append(field)
        return bool(made.redactions)


def _findings(field: str, text: str, known: Known, rare: Rare) -> Iterator[Finding]:
    for leak in find_leaks(text, known=known, rare=rare) if text else ():
        yield Finding(**{**asdict(leak), "field": field})


def _without(rare: Rare, names: frozenset[str]) -> Rare:
    return lambda words: rare([word for word in words if word not in names])


def _nothing_is_rare(words: Sequence[str]) -> frozenset[str]:
    return frozenset()
