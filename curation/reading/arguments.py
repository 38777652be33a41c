"""Which arguments come in: the rules of an app, beside the names that were dropped lately."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import F

from curation.settings.words import RULE_NAMES
from episodes.ingest.whitelist import Whitelist
from episodes.models import App, Episode, EpisodeRevision, Member

COUNTED = 1_000
SHOWN = 200


@dataclass(frozen=True, slots=True)
class ArgumentLine:
    """`rule`: its own one, by its name in the form, or empty; `applies`: the one that decides."""

    tool: str
    argument: str
    rule: str
    applies: str
    n_dropped: int


def list_arguments(*, member: Member) -> list[ArgumentLine]:
    """Return the rules first, then what was dropped without a rule of its own, the commonest first.
    One query, over the newest episodes."""
    app = member.app
    whitelist = Whitelist.from_json(app.argument_whitelist)
    dropped = _count_dropped(member)
    own = {(tool, argument) for tool, rules in whitelist.rules.items() for argument in rules}
    ordered = [*sorted(own), *(name for name, _ in dropped.most_common(SHOWN) if name not in own)]
    return [line_of(app, tool, argument, dropped[tool, argument]) for tool, argument in ordered]


def line_of(app: App, tool: str, argument: str, n_dropped: int = 0) -> ArgumentLine:
    whitelist = Whitelist.from_json(app.argument_whitelist)
    own = whitelist.rules.get(tool, {}).get(argument)
    return ArgumentLine(
        tool,
        argument,
        rule="" if own is None else RULE_NAMES[own],
        applies=RULE_NAMES[whitelist.rule(tool, argument)],
        n_dropped=n_dropped,
    )


def _count_dropped(member: Member) -> Counter[tuple[str, str]]:
    newest = Episode.objects.visible_to(member).order_by("-received_at", "-id").values("id")
    counted: Counter[tuple[str, str]] = Counter()
    for names, tools in EpisodeRevision.objects.filter(
        app_id=member.app_id,
        episode_id__in=newest[:COUNTED],
        revision=F("episode__revision"),
    ).values_list("dropped_arguments", "tools"):
        counted.update(_apart(name, tools) for name in names)
    return counted


def _apart(name: str, tools: Sequence[str]) -> tuple[str, str]:
    """Split "tool.argument". Both may hold dots, so the session's own tools decide, longest first."""
    for tool in sorted(tools, key=len, reverse=True):
        if name.startswith(f"{tool}."):
            return tool, name[len(tool) + 1 :]
    tool, _, argument = name.partition(".")
    return tool, argument
