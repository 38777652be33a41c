from __future__ import annotations

import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from episodes.embedding.local import LocalEmbedder


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


def similarity(embedder: LocalEmbedder, one: str, other: str) -> float:
    left, right = embedder.embed([one, other])
    assert left is not None
    assert right is not None
    return sum(a * b for a, b in zip(left, right, strict=True))


def test_vectors_have_the_dimension_and_length_one(embedder: LocalEmbedder) -> None:
    texts = [
        "refund a duplicate charge",
        "x",
        "the",
        "\U0001f600 \U0001f680",
        "word " * 9_000,
        "名",
    ]
    vectors = embedder.embed(texts)
    assert [vector and len(vector) for vector in vectors] == [256] * len(texts)
    lengths = [sum(number * number for number in vector or []) for vector in vectors]
    assert lengths == pytest.approx([1.0] * len(texts), abs=1e-9)


def test_a_text_without_words_has_no_vector(embedder: LocalEmbedder) -> None:
    assert embedder.embed([]) == []
    assert embedder.embed(["", "  \n\t", "\ud800", "\udc00\ud800 "]) == [None] * 4


def test_lone_surrogates_do_not_change_the_vector(embedder: LocalEmbedder) -> None:
    clean, dirty, empty = embedder.embed(["refund it", "\udc00refund\ud800 it ", ""])
    assert dirty == clean
    assert empty is None


def test_a_surrogate_pair_is_the_character_it_spells(embedder: LocalEmbedder) -> None:
    spelled, whole = embedder.embed(["go \ud83d\ude00", "go \U0001f600"])
    assert spelled == whole


def test_a_vector_does_not_depend_on_its_batch(embedder: LocalEmbedder) -> None:
    texts = [f"reset the password of account {n} " * (n % 7 + 1) for n in range(100)]
    assert embedder.embed(texts) == [embedder.embed([text])[0] for text in texts]


def test_threads_that_come_first_together_agree() -> None:
    fresh = LocalEmbedder()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: fresh.embed(["refund it"]), range(8)))
    assert answers == [LocalEmbedder().embed(["refund it"])] * 8


@pytest.mark.parametrize(
    ("goal", "paraphrase"),
    [
        (
            "Refund the 640 dollar duplicate charge on invoice 8812.",
            "refund duplicate charge large amount",
        ),
        (
            "Refund the 640 dollar duplicate charge on invoice 8812.",
            "The customer was charged twice and wants a refund of the duplicate charge",
        ),
        (
            "I need to change my return flight from Texas to Newark.",
            "Hi! Please move my return flight to a later one",
        ),
    ],
)
def test_a_paraphrase_is_above_the_minimum(
    embedder: LocalEmbedder, goal: str, paraphrase: str
) -> None:
    assert similarity(embedder, goal, paraphrase) > embedder.minimum


def test_the_same_wish_in_nearly_the_same_words_is_above_the_failure_threshold(
    embedder: LocalEmbedder,
) -> None:
    cosine = similarity(
        embedder,
        "Refund the 640 dollar duplicate charge on invoice 8812.",
        "Please refund the duplicate charge of 640 dollars on invoice 8812",
    )
    assert cosine > embedder.failure_threshold


@pytest.mark.parametrize(
    "unrelated",
    [
        "What is the weather in Paris tomorrow?",
        "Reset the password of a locked account",
        "My phone shows no signal since this morning",
        "Change my return flight to a later one",
    ],
)
def test_an_unrelated_text_is_below_the_minimum(embedder: LocalEmbedder, unrelated: str) -> None:
    goal = "Refund the 640 dollar duplicate charge on invoice 8812."
    assert similarity(embedder, goal, unrelated) < embedder.minimum


def test_loading_leaves_the_root_logger_alone() -> None:
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    LocalEmbedder().embed(["refund it"])
    assert (root.handlers[:], root.level) == before


def test_it_loads_without_a_network_and_only_when_used() -> None:
    program = """
import logging, sys
from episodes.embedding.local import LocalEmbedder

def refuse(event, args):
    if event.startswith("socket."):
        raise AssertionError("the network was used")

sys.addaudithook(refuse)
embedder = LocalEmbedder()
assert "wordllama" not in sys.modules
assert embedder.embed(["refund it"])[0] is not None
assert logging.getLogger().handlers == []
print("done")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
