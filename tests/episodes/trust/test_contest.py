"""Who would be first, as arithmetic: each part of the rule by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from episodes.ranking import Profile
from episodes.trust.contest import (
    Contender,
    Contest,
    Floats,
    Question,
    Verdict,
    is_outsized,
    is_outsized_for_subject,
    kinds_of,
    share_of_words,
)
from episodes.trust.rules import ShadowRules
from memoryadmin.lib import ids

PROFILE = Profile(minimum=0.4)
RULES = ShadowRules()


def along(axis: int, share: float = 1.0, n: int = 12) -> Floats:
    """Return a unit vector that has the cosine `share` to the axis, and little to the others."""
    vector = np.zeros(n)
    vector[axis] = share
    vector[-1] = np.sqrt(1 - share**2)
    return vector


def question(axis: int, *words: str, **members: object) -> Question:
    text = " ".join(words)
    asked = Question(text=text, words=frozenset(words), vector=along(axis))
    return replace(asked, **members)  # type: ignore[arg-type]


def episode(vector: Floats | None = None, *words: str, weight: float = 1.0) -> Contender:
    return Contender(ids.new_id(), frozenset(words), frozenset(), vector, weight)


def contest(questions: list[Question], pool: list[Contender], kin: float = 0.9) -> Contest:
    return Contest(profile=PROFILE, questions=questions, pool=pool, kin=kin)


def test_first_is_who_scores_above_everybody_else() -> None:
    stands = contest([question(0), question(1)], [episode(along(0, 0.9)), episode(along(1, 0.6))])

    assert stands.judge(episode(along(0, 0.8))).first == 0
    assert stands.judge(episode(along(0, 0.95))).first == 1
    assert stands.judge(episode(along(1, 0.7))).first == 1


def test_a_tie_stays_with_who_was_there_before() -> None:
    assert contest([question(0)], [episode(along(0, 0.9))]).judge(episode(along(0, 0.9))).first == 0


def test_a_newcomer_counts_at_the_best_weight_that_statements_could_give_it() -> None:
    stands = contest([question(0)], [episode(along(0, 0.9), weight=0.4)])

    assert stands.judge(episode(along(0, 0.5), weight=0.1)).first == 1


def test_nobody_is_first_below_the_minimum() -> None:
    stands = contest([question(0), question(1, "x", vector=None)], [])

    assert stands.judge(episode(along(0, 0.39))).first == 0
    assert stands.judge(episode(along(0, 0.41))).first == 1


def test_what_was_served_and_is_not_in_the_pool_stands_as_it_was_logged() -> None:
    logged = question(0, first=ids.new_id(), bar=0.7)

    assert contest([logged], []).judge(episode(along(0, 0.6))).first == 0
    assert contest([logged], []).judge(episode(along(0, 0.8))).first == 1


def test_what_is_in_the_pool_is_measured_anew() -> None:
    present = episode(along(0, 0.5))
    logged = question(0, first=present.id, bar=0.9)

    assert contest([logged], [present]).judge(episode(along(0, 0.6))).first == 1


def test_by_words_alone_the_log_holds_what_a_vector_had_won() -> None:
    present = episode(None, "refund")
    logged = question(0, "refund", "my", "card", vector=None, first=present.id, bar=0.9)
    stands = contest([logged], [present])

    assert stands.judge(episode(None, "refund", "my", "card")).first == 0
    assert stands.peers_win.tolist() == [0.0]  # a third of the words: below text's own minimum


def test_identifiers_outweigh_words_as_in_the_rule() -> None:
    asked = question(0, "look", "at", vector=None, tokens=frozenset({"inv-1", "refund_payment"}))
    stands = contest([asked], [episode(None, "look", "at")])
    codes = Contender(ids.new_id(), frozenset(), frozenset({"inv-1", "refund_payment"}), None, 1.0)

    assert stands.judge(codes).first == 1


def test_questions_of_one_kind_weigh_one_together() -> None:
    asked = [question(0, "a"), question(0, "b"), question(0, "c"), question(1, "d")]

    verdict = contest(asked, []).judge(episode(along(0)))

    assert verdict.first == pytest.approx(1.0)
    assert (verdict.of, verdict.queries) == (2, 4)


def test_without_vectors_half_the_words_make_one_kind() -> None:
    asked = [
        Question(text="", words=frozenset(words.split()))
        for words in ("refund the card", "refund the bill", "book a flight")
    ]

    assert kinds_of(asked, 0.9) == [0, 0, 1]
    assert share_of_words(frozenset(), frozenset()) == 0.0


def test_the_newcomers_own_session_asked_nothing() -> None:
    own = question(0, user_id="user-1", session_id="run")
    other = question(1, user_id="user-2", session_id="run")
    stands = contest([own, other], [])
    both = (along(0) + along(1)) / np.sqrt(2)

    assert stands.judge(episode(both)).first == 2
    assert stands.judge(episode(both), user_id="user-1", session_id="run").first == 1


def test_peers_are_asked_what_they_would_win_in_the_newcomers_place() -> None:
    weak, strong = episode(along(0, 0.6), weight=0.3), episode(along(0, 0.9), weight=0.3)
    stands = contest([question(0), question(1)], [weak, strong, episode(along(1), weight=0.3)])

    # at the best weight each of the first two would beat the other's 0.3
    assert stands.peers_win.tolist() == [1.0, 1.0, 1.0]


def verdict(**members: float) -> Verdict:
    usual = {"first": 20, "of": 60, "queries": 100, "peers": 100, "peer": 3.0, "best_peer": 5.0}
    return Verdict(**{**usual, **members})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("members", "outsized"),
    [
        ({}, True),
        ({"of": 19, "first": 19}, False),  # too little is asked
        ({"peers": 9}, False),  # too few to compare with
        ({"first": 5.9, "of": 20}, False),  # too few kinds
        ({"first": 8.9}, False),  # below 15 %
        ({"peer": 11.0, "best_peer": 25.0}, False),  # others do as much
        ({"peers": 10, "of": 60, "first": 10.8}, False),  # twice an even share of 11
        ({"peer": 18.0, "best_peer": 20.0, "first": 31.0}, True),  # more than half, above all
        ({"peer": 18.0, "best_peer": 32.0, "first": 31.0}, False),
    ],
)
def test_outsized_is_above_the_floors_and_above_the_peers(
    members: dict[str, float], outsized: bool
) -> None:
    assert is_outsized(verdict(**members), RULES) is outsized


@pytest.mark.parametrize(
    ("members", "outsized"),
    [
        ({"first": 6, "of": 10}, True),
        ({"first": 5.9, "of": 10}, False),
        ({"first": 7, "of": 7}, False),
        ({"first": 6, "of": 10, "best_peer": 6}, False),
    ],
)
def test_a_subjects_own_questions_have_floors_of_their_own(
    members: dict[str, float], outsized: bool
) -> None:
    assert is_outsized_for_subject(verdict(**members), RULES) is outsized


def test_nothing_asked_and_nobody_there_is_no_finding() -> None:
    empty = contest([], []).judge(episode(along(0)))

    assert (empty.share, empty.first, empty.peer) == (0.0, 0.0, 0.0)
    assert not is_outsized(empty, RULES)
