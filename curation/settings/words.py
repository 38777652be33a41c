"""What the settings pages call rules, constants and scopes, with the bounds that the database holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from episodes.enums import KeyScope, Role
from episodes.ingest.whitelist import CODE, Rule


@dataclass(frozen=True, slots=True)
class RuleWord:
    label: str
    hint: str
    rule: Rule


# By the value that the form sends.
RULES = {
    "code": RuleWord("Codes only", "Numbers, booleans, and short words with a digit or _", CODE),
    "true": RuleWord(
        "Short text, too", "Also one line of at most 120 characters, masked", rule=True
    ),
    "false": RuleWord("Nothing", "The value never comes in", rule=False),
}
RULE_NAMES: dict[Rule, str] = {word.rule: name for name, word in RULES.items()}


@dataclass(frozen=True, slots=True)
class Constant:
    label: str
    least: float
    most: float
    help: str = ""
    is_whole: bool = False
    may_be_empty: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    label: str
    help: str
    constants: Mapping[str, Constant]


def _weight(label: str) -> Constant:
    return Constant(label, 0.0, 10.0)


RANKING = (
    Group(
        "Outcome",
        "A success counts in full, the rest less. What is only claimed weighs at most as unknown.",
        {
            "success": _weight("Success"),
            "partial": _weight("Partial"),
            "failure": _weight("Failure"),
            "escalated": _weight("Escalated"),
            "unknown": _weight("Unknown"),
            "abandoned": _weight("Abandoned"),
        },
    ),
    Group(
        "Relevance",
        "The better of the similarity of goals and the match of words, names and codes.",
        {
            "identifier_weight": _weight("Names and codes"),
            "text_weight": _weight("Words"),
            "minimum": Constant(
                "Minimum similarity", 0.0, 1.0, "Empty: the embedder's", may_be_empty=True
            ),
            "text_minimum": Constant("Minimum of text alone", 0.0, 1.0),
            "failure_threshold": Constant(
                "A failure must exceed", 0.0, 1.0, "Empty: the embedder's", may_be_empty=True
            ),
        },
    ),
    Group(
        "Toolset",
        "How the tools of the episode compare with those that its agent has now.",
        {
            "toolset_current": _weight("Current"),
            "toolset_other": _weight("Not current"),
            "toolset_unknown": _weight("Not comparable"),
        },
    ),
    Group(
        "Age and number",
        "The score falls to 37 % after the days of decay.",
        {
            "decay_days": Constant("Decay, days", 1.0, 36_500.0),
            "max_results": Constant("Results at most", 1, 20, is_whole=True),
            "window": Constant("Newest compared", 1, 1_000_000, is_whole=True),
        },
    ),
)
# What a key may do with each, for whoever issues it.
SCOPES = {
    KeyScope.INGEST: "send finished sessions of any subject, and ask what became of one",
    KeyScope.SEARCH: "ask for precedent; every search is logged with what it was given",
    KeyScope.FEEDBACK: "pass on what users say about a session",
    KeyScope.VERIFY: "say how a session ended and be believed, declare and retire toolsets",
    KeyScope.READ: "read episodes, recalls and counts of one subject at a time",
    KeyScope.READ_ALL: "read and export what belongs to every subject; recorded",
    KeyScope.ERASE: "erase a subject for good, with all that is stored of it",
}
ROLE_HINTS = {
    Role.VIEWER: "reads episodes and measures",
    Role.REVIEWER: "also decides how episodes ended",
    Role.CURATOR: "also settles, flags and promotes",
    Role.COMPLIANCE: "reads everything with the recall log and the audit, erases",
    Role.ADMIN: "manages keys, settings and members",
}
