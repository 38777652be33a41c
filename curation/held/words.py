"""What the console says of holds and alarms: which rule, with its figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from curation import words
from curation.held.settling import KEPT_OUT
from curation.models import Alarm, AlarmKind
from episodes.ingest.evidence import BLOCKED_ELSEWHERE
from episodes.models import Block
from episodes.trust.burst import BURST
from episodes.trust.shadow import SHADOW_RECALL

ALARMS = {
    AlarmKind.RETRIEVAL_SHARE: "It takes an outsized share of the recalls",
    AlarmKind.OUTCOME_AFTER_RECALL: "Sessions end worse after it was recalled",
    AlarmKind.ORIGIN_FLAGGED: "The app that offered it has flagged it",
    AlarmKind.ORIGIN_WITHDRAWN: "The app that offered it has taken it back",
}
_SIDES = {"text": "By its words, names and codes", "vector": "By its meaning"}


def hold_said(block: Block) -> str:
    """Return why it was held, with what the rule saw then."""
    figures = block.figures
    if block.reason == SHADOW_RECALL and figures:
        return _shadow_said(figures)
    if block.reason == BURST and figures:
        return (
            f"One of {figures['alike']} alike within {figures['minutes']} minutes, by one subject and"
            " one key, each claimed to be a success by nobody but itself"
            f" ({figures['same_procedure']} with the same tools in the same order)."
        )
    if block.reason == BLOCKED_ELSEWHERE:
        return words.reason_text(block.reason)
    if block.reason == KEPT_OUT:
        return "A person read it and kept it out."
    return f"It reads like an instruction to a model: {words.reason_text(block.reason)}."


def _shadow_said(figures: Mapping[str, Any]) -> str:
    whose = "its app" if figures["queries_of"] == "app" else "its own subject"
    return (
        f"{_SIDES[figures['side']]} it would have been first for {figures['first']:g} of"
        f" {figures['of']} kinds of questions ({figures['share']:.0%}) among the last"
        f" {figures['queries']} of {whose}. Of {figures['peers']} episodes in its place the best"
        f" would have had {figures['best_peer']:g}, and one in a hundred {figures['peer']:g}."
    )


def alarm_said(alarm: Alarm) -> str:
    figures = alarm.figures
    if alarm.kind == AlarmKind.ORIGIN_FLAGGED:
        return "What is shared here was taken over from there, and is flagged there as poison."
    if alarm.kind == AlarmKind.ORIGIN_WITHDRAWN:
        return "What is shared here was taken over from there, and is shared there no more."
    if alarm.kind == AlarmKind.RETRIEVAL_SHARE:
        return (
            f"In {figures['days']} days it was the first hit for {figures['share']:.0%} of"
            f" {figures['kinds']} kinds of questions ({figures['recalls']} of {figures['of']}"
            f" wordings), with {figures['peers']} other episodes to choose from."
        )
    return (
        f"{figures['bad']} of {figures['of']} sessions that were given it ended badly, against"
        f" {figures['others_bad']} of {figures['others']} comparable ones in {figures['days']} days."
        f" By chance that happens with a probability of {figures['chance']:g}, over all"
        f" {figures['looked_at']} episodes looked at."
    )
