"""The contest of a newcomer with the episodes there are, for the first place in past queries.

Pure arithmetic on a few hundred episodes. The recall rule (episodes/ranking.py) with two things left
out on purpose: age, because to be new is no sign of an attack, and how a newcomer ended, because a
statement can change that later. A newcomer is taken at the best weight that statements alone could
give it; so is each of its peers when it is asked what that one would win in its place. What is
compared is what a text attracts.

Words are counted once each, where PostgreSQL's rank gives a little more to one said twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from episodes.ranking import Profile
from episodes.trust.rules import ShadowRules

Floats = NDArray[np.float64]
ALIKE_WORDS = 0.5  # shared words of two queries of one kind, where vectors do not say


@dataclass(frozen=True, slots=True)
class Question:
    """A recall, asked again. `vector` None: it has none, or words alone are compared.

    `bar`: what its first hit scored when it was served, its age left out; 0 without one.
    """

    text: str
    words: frozenset[str]
    tokens: frozenset[str] = frozenset()
    vector: Floats | None = None
    first: UUID | None = None
    bar: float = 0.0
    user_id: str = ""
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class Contender:
    """`weight`: of its outcome and toolset, by the profile."""

    id: UUID
    words: frozenset[str]
    identifiers: frozenset[str]
    vector: Floats | None
    weight: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a newcomer would win. `first` and `of` count kinds of queries; `peer` is what one peer
    in a hundred would win in its place, `best_peer` the most that any would."""

    first: float
    of: int
    queries: int
    peers: int
    peer: float
    best_peer: float

    @property
    def share(self) -> float:
        return self.first / self.of if self.of else 0.0

    def as_json(self) -> dict[str, float]:
        return {
            "first": round(self.first, 2),
            "of": self.of,
            "queries": self.queries,
            "share": round(self.share, 4),
            "peers": self.peers,
            "peer": round(self.peer, 2),
            "best_peer": round(self.best_peer, 2),
        }


class Contest:
    """The questions, and who stands in them now."""

    def __init__(
        self,
        *,
        profile: Profile,
        questions: Sequence[Question],
        pool: Sequence[Contender],
        kin: float,
    ) -> None:
        self.profile = profile
        self.questions = questions
        self.n_peers = len(pool)
        self.weights, self.n_kinds = _weights(questions, kin)
        self._vectors = _stacked([one.vector for one in questions])
        self._has_vector = np.array([one.vector is not None for one in questions])
        self._words = _Shares([one.words for one in questions])
        self._tokens = _Shares([one.tokens for one in questions])
        relevance = np.vstack([self._relevance(one) for one in pool]) if pool else self._nobody()
        scores = relevance * np.array([one.weight for one in pool]).reshape(-1, 1)
        self._set_bars(scores, pool)
        self.peers_win = self._wins(relevance, self._bars_for_peers)

    def _nobody(self) -> Floats:
        return np.zeros((0, len(self.questions)))

    def _set_bars(self, scores: Floats, pool: Sequence[Contender]) -> None:
        """The best score of each question, and what it would be without each peer.

        What was served stands as it was logged, unless it is in the pool and measured anew. By words
        alone it is not: then its log holds what its vector had won.
        """
        place = {one.id: row for row, one in enumerate(pool)}
        anew = self._vectors is not None
        logged = np.array(
            [0.0 if anew and one.first in place else one.bar for one in self.questions]
        ).reshape(1, -1)
        self._bar, without = _best_and_without(scores, logged)
        for question, one in enumerate(self.questions):
            row = place.get(one.first) if one.first else None
            if row is not None and not anew:  # nobody stands in one's own way
                others = np.delete(scores[:, question], row)
                without[row, question] = others.max(initial=0.0)
        self._bars_for_peers = without

    def judge(
        self, newcomer: Contender, *, user_id: str | None = None, session_id: str | None = None
    ) -> Verdict:
        """The newcomer's own session, if it is named, is never answered by it."""
        relevance = self._relevance(newcomer)
        if session_id is not None:
            relevance[self._asked_in(user_id, session_id)] = 0.0
        won = self._wins(relevance.reshape(1, -1), self._bar.reshape(1, -1))
        peers = self.peers_win
        return Verdict(
            first=float(won[0]),
            of=self.n_kinds,
            queries=len(self.questions),
            peers=self.n_peers,
            peer=float(np.quantile(peers, 0.99)) if len(peers) else 0.0,
            best_peer=float(peers.max()) if len(peers) else 0.0,
        )

    def _asked_in(self, user_id: str | None, session_id: str) -> list[int]:
        return [
            place
            for place, one in enumerate(self.questions)
            if (one.user_id, one.session_id) == (user_id, session_id)
        ]

    def _wins(self, relevance: Floats, bars: Floats) -> Floats:
        """Return how many kinds of questions each would be first for at the best weight.

        A tie stays with who was there before.
        """
        best = self.profile.success * self.profile.toolset_current
        minimum = np.where(self._has_vector, self.profile.minimum, self.profile.text_minimum)
        first = (relevance > 0) & (relevance >= minimum) & (relevance * best > bars + 1e-9)
        won: Floats = first.astype(np.float64) @ self.weights
        return won

    def _relevance(self, one: Contender) -> Floats:
        by_token = self._tokens.of(one.identifiers)
        by_word = self._words.of(one.words)
        # the text side of the recall rule (episodes/search.py, TEXT)
        text = np.where(
            by_token > 0,
            self.profile.identifier_weight * by_token,
            self.profile.text_weight * by_word,
        )
        if one.vector is None or self._vectors is None:
            return text
        similarity: Floats = np.maximum(self._vectors @ one.vector, 0.0)
        return np.maximum(similarity, text)


def is_outsized(verdict: Verdict, rules: ShadowRules) -> bool:
    """Whether the newcomer takes so much of the app's questions that a person should look."""
    if verdict.of < rules.least_kinds or verdict.peers < rules.least_peers:
        return False
    if verdict.first < rules.least_first or verdict.share < rules.least_share:
        return False
    even = verdict.of / (verdict.peers + 1)
    if verdict.first >= rules.above_peers * max(verdict.peer, even):
        return True
    return verdict.share >= rules.dominant_share and verdict.first > verdict.best_peer


def is_outsized_for_subject(verdict: Verdict, rules: ShadowRules) -> bool:
    """The same over one subject's own questions, where few episodes stand beside it."""
    return (
        verdict.of >= rules.own_kinds
        and verdict.share >= rules.own_share
        and verdict.first > verdict.best_peer
    )


class _Shares:
    """What share of each question's words another text has, for many texts."""

    def __init__(self, asked: Sequence[frozenset[str]]) -> None:
        places: dict[str, list[int]] = defaultdict(list)
        for place, words in enumerate(asked):
            for word in words:
                places[word].append(place)
        self._places = {word: np.array(found) for word, found in places.items()}
        self._each = np.array([1.0 / max(len(words), 1) for words in asked])

    def of(self, words: frozenset[str]) -> Floats:
        found = np.zeros(len(self._each))
        for word in words & self._places.keys():
            found[self._places[word]] += 1.0
        shares: Floats = found * self._each
        return shares


def kinds_of(questions: Sequence[Question], kin: float) -> list[int]:
    """Return the kind of each question: near in meaning or, without vectors, in words, to the
    first of its kind."""
    kinds: list[int] = []
    leaders: list[Question] = []
    vectors = _stacked([one.vector for one in questions])
    cosines = None if vectors is None else vectors @ vectors.T
    at: list[int] = []
    for place, one in enumerate(questions):
        found = next(
            (
                number
                for number, leader in enumerate(leaders)
                if (
                    cosines[place, at[number]] >= kin
                    if cosines is not None and one.vector is not None and leader.vector is not None
                    else _alike(one.words, leader.words)
                )
            ),
            None,
        )
        if found is None:
            found = len(leaders)
            leaders.append(one)
            at.append(place)
        kinds.append(found)
    return kinds


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return share_of_words(one, other) >= ALIKE_WORDS


def share_of_words(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the shared words of all words of two texts, 0..1."""
    every = len(one | other)
    return len(one & other) / every if every else 0.0


def _best_and_without(scores: Floats, logged: Floats) -> tuple[Floats, Floats]:
    """Return the best of each column, and for each row of `scores` the best of the others."""
    rows = np.vstack([scores, logged])
    ordered = np.sort(rows, axis=0)
    best = ordered[-1]
    runner_up = ordered[-2] if len(rows) > 1 else np.zeros_like(best)
    return best, np.where(scores >= best, runner_up, best)


def _weights(questions: Sequence[Question], kin: float) -> tuple[Floats, int]:
    """Each kind weighs one, whatever the number of its questions."""
    kinds = kinds_of(questions, kin)
    sizes: dict[int, int] = defaultdict(int)
    for kind in kinds:
        sizes[kind] += 1
    return np.array([1.0 / sizes[kind] for kind in kinds]), len(sizes)


def _stacked(vectors: Sequence[Any]) -> Floats | None:
    """Rows of zeros stand for what has no vector; None if nothing has."""
    known = next((one for one in vectors if one is not None), None)
    if known is None:
        return None
    nothing = np.zeros_like(known)
    return np.vstack([nothing if one is None else one for one in vectors])
