"""What a flagged episode reached, as a graph: its generations from left to right."""

from __future__ import annotations

from django.utils.safestring import SafeString

from curation import words
from curation.drawing.graphs import Layer, Node, layered_graph
from curation.reading.flag import FlagPage
from episodes.enums import Outcome, RecallState
from episodes.reach import Reach, ReachedEpisode


def draw_reach(page: FlagPage) -> SafeString:
    nodes = page.closure.reach.nodes
    layers = [Layer("Flagged", "")] + [
        Layer(
            _counted(step.depth, "step"),
            f"{_counted(step.sessions, 'session')}, {_counted(step.episodes, 'episode')}",
        )
        for step in page.steps
    ]
    return layered_graph(
        [_node(node) for node in nodes],
        layers=layers,
        name=f"What it reached: {_counted(len(nodes) - 1, 'episode')} in "
        f"{_counted(len(layers) - 1, 'step')}; the figures are in the table",
    )


def draw_followed(reach: Reach) -> SafeString:
    """The same of episodes that an incident follows."""
    episodes, sessions = reach.episodes_by_depth, reach.sessions_by_depth
    deepest = max(episodes, default=0)
    return layered_graph(
        [_node(node) for node in reach.nodes],
        layers=[Layer("Followed", "")]
        + [
            Layer(
                _counted(depth, "step"),
                f"{_counted(sessions[depth], 'session')}, {_counted(episodes[depth], 'episode')}",
            )
            for depth in range(1, deepest + 1)
        ],
        name=f"What it led to: {_counted(sum(episodes.values()) - episodes[0], 'episode')} in "
        f"{_counted(deepest, 'step')}; the sessions are in the table",
    )


def _node(node: ReachedEpisode) -> Node:
    outcome = words.OUTCOMES[Outcome(node.outcome)].label if node.outcome else "Since deleted"
    blocked = node.recall_state == RecallState.BLOCKED
    return Node(
        key=node.episode_id,
        layer=node.depth,
        parents=node.via,
        kind=node.outcome or "gone",
        is_solid=words.is_verified(node.outcome_source),
        is_ringed=blocked,
        weight=node.n_recalls,
        title=f"{outcome}, given {_counted(node.n_recalls, 'time')}"
        f"{', out of recall' if blocked else ''} (…{str(node.episode_id)[-8:]})",
    )


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
