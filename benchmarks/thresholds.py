"""Measure an embedder's minimum and failure threshold on recorded sessions.

    python -m benchmarks.thresholds [--embedder local|settings] [--labels FOLDER]

`settings` measures the embedder this installation is set to. Texts are the goals as the product
embeds them; the groups of pairs are explained in benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from episodes.embedding import get_embedder
from episodes.embedding.base import Embedder
from episodes.embedding.calibration import PERCENTILES, percentiles, propose
from episodes.embedding.local import LocalEmbedder
from episodes.embedding.text import embedding_text

LABELS = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "retrieval_labels"
CUTS = (0.40, 0.45, 0.50, 0.55, 0.60, 0.70, 0.75, 0.80, 0.85, 0.90)
Similarities = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Record:
    goal: str
    source: str
    domain: str
    task: str
    family: str
    customer: str | None


def load_records(labels: Path) -> list[Record]:
    """Return one record per distinct goal of a task; its trials often repeat it word by word."""
    records: dict[tuple[str, str], Record] = {}
    for line in (labels / "corpus.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        record = Record(
            goal=embedding_text(row["query_first_user_message"], None),
            source=row["source"],
            domain=row["domain"].removesuffix("-no-user"),
            task=row["task_key"],
            family=row["family"],
            customer=row["customer"],
        )
        records.setdefault((record.task, record.goal), record)
    return list(records.values())


def group(one: Record, other: Record) -> str | None:
    """Name the relation of two records; None where the labels do not tell it."""
    if one.task == other.task:
        return "same task"
    if one.goal == other.goal:
        return None  # two tasks opened by the same words
    if one.domain != other.domain:
        return "unrelated, other domain"
    if one.source != other.source:
        return None  # the two airline sets number their tasks separately
    if one.customer and one.customer == other.customer:
        return "same customer"
    if one.family == other.family and one.source != "agentdojo":
        return "same family"
    return "unrelated, same domain"  # agentdojo's family is only its suite


def measure(embedder: Embedder, records: list[Record]) -> dict[str, Similarities]:
    """Return the cosines of all pairs by group."""
    vectors = np.asarray(embedder.embed([record.goal for record in records]), dtype=np.float64)
    cosines = vectors @ vectors.T
    found: dict[str, list[float]] = {}
    for left in range(len(records)):
        for right in range(left):
            name = group(records[left], records[right])
            if name is not None:
                found.setdefault(name, []).append(float(cosines[left, right]))
    return {name: np.asarray(found[name]) for name in sorted(found, reverse=True)}


def report(embedder: Embedder, groups: dict[str, Similarities]) -> list[str]:
    near = groups["unrelated, same domain"]
    unrelated = np.concatenate([near, groups["unrelated, other domain"]])
    everything = {"unrelated, all": unrelated, **groups}
    proposed = propose(unrelated, near=near)
    return [
        f"Embedder `{embedder.model}`: minimum **{proposed.minimum:.2f}**, "
        f"failure threshold **{proposed.failure_threshold:.2f}** proposed "
        f"({embedder.minimum:.2f} and {embedder.failure_threshold:.2f} shipped).",
        "",
        _row("percentile", ["pairs", *(f"p{each:g}" for each in PERCENTILES)]),
        _row("---", ["---:"] * (len(PERCENTILES) + 1)),
        *(
            _row(
                name, [str(len(found)), *(f"{value:.2f}" for value in percentiles(found).values())]
            )
            for name, found in everything.items()
        ),
        "",
        _row("share at or above", [f"{cut:.2f}" for cut in CUTS]),
        _row("---", ["---:"] * len(CUTS)),
        *(
            _row(name, [f"{(found >= cut).mean():.1%}" for cut in CUTS])
            for name, found in everything.items()
        ),
    ]


def _row(name: str, cells: list[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


def _chosen(name: str) -> Embedder:
    if name == "local":
        return LocalEmbedder()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryadmin.settings")
    return get_embedder()


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Measure an embedder's minimum and failure threshold."
    )
    parser.add_argument("--embedder", choices=("local", "settings"), default="local")
    parser.add_argument("--labels", type=Path, default=LABELS)
    options = parser.parse_args()
    embedder = _chosen(options.embedder)
    print("\n".join(report(embedder, measure(embedder, load_records(options.labels)))))


if __name__ == "__main__":
    main()
