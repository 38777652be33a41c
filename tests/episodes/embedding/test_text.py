from __future__ import annotations

from episodes.embedding.base import MAX_CHARACTERS, embeddable
from episodes.embedding.text import embedding_text


def test_the_text_is_issue_type_and_goal() -> None:
    goal = "Refund the duplicate charge"
    assert embedding_text(goal, "duplicate_charge") == f"duplicate charge: {goal}"
    assert embedding_text(goal, "over-limit") == f"over limit: {goal}"


def test_without_an_issue_type_it_is_the_goal() -> None:
    assert [embedding_text("Refund it", missing) for missing in (None, "", "_")] == [
        "Refund it"
    ] * 3


def test_a_model_reads_no_more_than_a_query_may_hold() -> None:
    assert len(embeddable("word " * 100_000)) == MAX_CHARACTERS - 1
    assert embeddable(" " * 100_000 + "word") == "word"
