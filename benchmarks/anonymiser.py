"""`python -m benchmarks.anonymiser`: recall and precision of the anonymiser before a person looks, on
the labelled sentences of ../shared/data/pii_presidio, as tables for README.md.

The rules were written with the development half in view, and never with the held-out half: the
sentences of one template are on one side. A labelled span is found when none of its letters and
digits is left; a redaction is right when it touches a span of one of its kind's labels. For the rare
words each sentence is a subject of its own, and a word of fewer than three of them is rare.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from curation.anonymise import Known, Rare, anonymise
from curation.anonymise.draft import Draft
from curation.anonymise.language import is_ordinary
from curation.anonymise.names import RULES, find_names
from curation.anonymise.rare_words import find_rare
from curation.anonymise.rounds import BEFORE_NAMES, run_finder
from curation.anonymise.spans import PLACEHOLDERS, Span

DATA = Path(__file__).resolve().parent.parent.parent / "shared/data/pii_presidio/synth_v2.jsonl"
K = 3

# The kind that should be found, and the labels that make a finding right.
KINDS = {
    "email": ("EMAIL_ADDRESS",),
    "phone": ("PHONE_NUMBER",),
    "card": ("CREDIT_CARD",),
    "iban": ("IBAN_CODE",),
    "ip": ("IP_ADDRESS",),
    "id": ("US_SSN", "US_DRIVER_LICENSE"),
    "url": ("DOMAIN_NAME",),
    "birth_date": ("DATE_TIME",),
    "address": ("STREET_ADDRESS", "ZIP_CODE", "GPE"),
    "name": ("PERSON",),
}
LABELS = (
    *("EMAIL_ADDRESS", "PHONE_NUMBER", "CREDIT_CARD", "IBAN_CODE", "IP_ADDRESS", "US_SSN"),
    *("DOMAIN_NAME", "STREET_ADDRESS", "ZIP_CODE", "PERSON", "GPE", "ORGANIZATION", "NRP"),
    *("TITLE", "AGE", "DATE_TIME"),
)
PATTERNED = LABELS[:7]


@dataclass(frozen=True)
class Sentence:
    text: str
    labels: tuple[tuple[str, int, int], ...]
    template: int

    @property
    def is_development(self) -> bool:
        return hashlib.sha256(str(self.template).encode()).digest()[0] % 2 == 0


@dataclass
class Count:
    """Per label how many there are and were found; per kind how many were said and were right."""

    labelled: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    said: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    personal: Counter[str] = field(default_factory=Counter)  # touches any label

    def add(self, sentence: Sentence, spans: Sequence[Span]) -> None:
        gone = {at for span in spans for at in range(span.start, span.end)}
        for label, start, end in sentence.labels:
            self.labelled[label] += 1
            self.found[label] += all(
                at in gone for at in range(start, end) if sentence.text[at].isalnum()
            )
        for span in spans:
            touched = {
                label
                for label, start, end in sentence.labels
                if start < span.end and span.start < end
            }
            self.said[span.kind] += 1
            self.right[span.kind] += bool(touched & {*KINDS.get(span.kind, ())})
            self.personal[span.kind] += bool(touched)

    def recall(self, *labels: str) -> str:
        return share(
            sum(self.found[one] for one in labels), sum(self.labelled[one] for one in labels)
        )

    def precision(self, kind: str) -> str:
        if kind not in KINDS:
            return "-"
        return share(self.right[kind], self.said[kind])


def share(part: int, whole: int) -> str:
    return f"{part / whole:.3f} ({part}/{whole})" if whole else "-"


def read(path: Path = DATA) -> list[Sentence]:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [
        Sentence(
            row["full_text"],
            tuple(
                (span["entity_type"], span["start_position"], span["end_position"])
                for span in row["spans"]
            ),
            row["template_id"],
        )
        for row in rows
    ]


def nothing_rare(words: Sequence[str]) -> frozenset[str]:
    return frozenset()


def rare_among(texts: Iterable[str], k: int = K) -> Rare:
    """A word is rare that fewer than k texts hold and that is not ordinary language."""
    counts: Counter[str] = Counter()

    def count(words: Sequence[str]) -> frozenset[str]:
        counts.update(words)
        return frozenset()

    for text in texts:
        list(find_rare(text, count))
    return lambda words: frozenset(w for w in words if counts[w] < k and not is_ordinary(w))


def measure(sentences: Iterable[Sentence], spans_of: Callable[[str], Sequence[Span]]) -> Count:
    count = Count()
    for sentence in sentences:
        count.add(sentence, spans_of(sentence.text))
    return count


def whole(rare: Rare) -> Callable[[str], Sequence[Span]]:
    def spans(text: str) -> Sequence[Span]:
        done = anonymise(text, field="goal", known=Known(frozenset()), rare=rare)
        return [Span(one.start, one.end, one.kind, one.rule) for one in done.redactions]

    return spans


def names_by(rules: frozenset[str]) -> Callable[[str], Sequence[Span]]:
    def spans(text: str) -> Sequence[Span]:
        draft = Draft(text)
        for finder in BEFORE_NAMES:
            run_finder(finder, draft)
        run_finder(lambda seen: (one for one in find_names(seen) if one.rule in rules), draft)
        return [span for span in draft.spans if span.kind == "name"]

    return spans


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.anonymiser")
    options.add_argument("--errors", help="print the development half's errors of a kind or label")
    chosen = options.parse_args()
    sentences = read()
    parts = {
        "development": [one for one in sentences if one.is_development],
        "held out": [one for one in sentences if not one.is_development],
        "both": sentences,
    }
    if chosen.errors:
        print_errors(parts["development"], chosen.errors)
        return
    rare = rare_among([one.text for one in sentences])
    plain = {part: measure(some, whole(nothing_rare)) for part, some in parts.items()}
    rarely = {part: measure(some, whole(rare)) for part, some in parts.items()}
    print_recall(plain, rarely)
    print_precision(plain, rarely)
    print_names(parts)
    print_strangers(parts)
    print_readable()


def print_recall(plain: Mapping[str, Count], rarely: Mapping[str, Count]) -> None:
    print_head(
        "recall by label", [f"{part}{more}" for part in plain for more in ("", ", rare too")]
    )
    for name, labels in (("patterned, all", PATTERNED), *((one, (one,)) for one in LABELS)):
        print_row(
            name, [count.recall(*labels) for part in plain for count in (plain[part], rarely[part])]
        )


def print_precision(plain: Mapping[str, Count], rarely: Mapping[str, Count]) -> None:
    """Beside being right, touching any label: a firm taken for a person identifies, too."""
    print_head(
        "precision by kind", [f"{part}{more}" for part in plain for more in ("", ", any label")]
    )
    for kind in (*KINDS, "rare_token"):
        counts = [(rarely if kind == "rare_token" else plain)[part] for part in plain]
        print_row(
            kind,
            [
                cell
                for one in counts
                for cell in (one.precision(kind), share(one.personal[kind], one.said[kind]))
            ],
        )


def print_names(parts: Mapping[str, Sequence[Sentence]]) -> None:
    print_head(
        "rule for names", [f"{part}: {what}" for part in parts for what in ("recall", "right")]
    )
    for name, rules in (*((rule, {rule}) for rule in RULES), ("all of them", {*RULES})):
        counts = [measure(some, names_by(frozenset(rules))) for some in parts.values()]
        print_row(
            name, [cell for one in counts for cell in (one.recall("PERSON"), one.precision("name"))]
        )


def print_strangers(parts: Mapping[str, Sequence[Sentence]]) -> None:
    """The other end: all sentences of a template are one subject's, so that nobody else says them."""
    said: dict[int, list[str]] = {}
    for sentence in parts["both"]:
        said.setdefault(sentence.template, []).append(sentence.text)
    rare = rare_among("\n".join(texts) for texts in said.values())
    print_head(
        "a template is a subject",
        [f"{part}: {what}" for part in parts for what in ("names", "right")],
    )
    counts = [measure(some, whole(rare)) for some in parts.values()]
    cells = [
        (one.recall("PERSON"), share(one.personal["rare_token"], one.said["rare_token"]))
        for one in counts
    ]
    print_row("rare_token, any label", [cell for pair in cells for cell in pair])


def print_readable() -> None:
    """What is taken out of the goals of recorded sessions, where hardly anything is personal."""
    goals = recorded_goals()
    print_head("recorded goals", ["words", *PLACEHOLDERS])
    for name, rare in (("rules alone", nothing_rare), ("rare too", rare_among(goals))):
        taken: Counter[str] = Counter()
        for goal in goals:
            taken.update(one.kind for one in whole(rare)(goal))
        print_row(
            name, [str(sum(len(g.split()) for g in goals)), *(str(taken[k]) for k in PLACEHOLDERS)]
        )


def recorded_goals() -> list[str]:
    """The first words of each user, each once."""
    goals: dict[str, None] = {}
    for path in sorted((DATA.parent.parent / "tau2_bench").glob("*.jsonl")):
        for row in map(json.loads, path.read_text().splitlines()):
            said = [m["content"] for m in row.get("messages") or () if m.get("role") == "user"]
            if said and isinstance(said[0], str):
                goals[said[0]] = None
    return list(goals)


def print_head(name: str, columns: Sequence[str]) -> None:
    print(f"\n| {name} | {' | '.join(columns)} |")
    print(f"| --- |{' ---: |' * len(columns)}")


def print_row(name: str, cells: Sequence[str]) -> None:
    print(f"| {name} | {' | '.join(cells)} |")


def print_errors(sentences: Iterable[Sentence], wanted: str) -> None:
    for sentence in sentences:
        spans = whole(nothing_rare)(sentence.text)
        gone = {at for span in spans for at in range(span.start, span.end)}
        for label, start, end in sentence.labels:
            if label == wanted and any(
                at not in gone for at in range(start, end) if sentence.text[at].isalnum()
            ):
                print("missed", repr(sentence.text[start:end]), "in", repr(sentence.text[:160]))
        for span in spans:
            if span.kind == wanted and not any(
                label in KINDS.get(wanted, ()) and start < span.end and span.start < end
                for label, start, end in sentence.labels
            ):
                print(
                    "wrong",
                    span.rule,
                    repr(sentence.text[span.start : span.end]),
                    "in",
                    repr(sentence.text[:160]),
                )


if __name__ == "__main__":
    main()
