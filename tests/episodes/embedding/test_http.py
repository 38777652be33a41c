from __future__ import annotations

import base64
import json
import logging
import struct
import time

import pytest

from episodes.embedding import base
from episodes.embedding.base import unit_vector
from episodes.embedding.http import HttpEmbedder
from tests.episodes.embedding.provider import (
    DIMENSIONS,
    Answer,
    Provider,
    Reply,
    as_json,
    good,
    items_of,
    vector_of,
)


def embedder_for(provider: Provider, *, batch: int = 64, timeout: float = 5.0) -> HttpEmbedder:
    return HttpEmbedder(
        url=provider.url,
        model="some-model",
        dimensions=DIMENSIONS,
        minimum=0.5,
        failure_threshold=0.9,
        api_key="sk-secret",
        timeout=timeout,
        batch=batch,
    )


def expected(text: str) -> list[float]:
    return unit_vector(vector_of(text), dimensions=DIMENSIONS)


def replying(reply: Reply) -> Answer:
    return lambda texts: reply


def with_items(*items: object) -> Answer:
    return replying(as_json({"data": items}))


def slow(provider: Provider, seconds: float) -> Answer:
    def answer(texts: list[str]) -> Reply:
        provider.closing.wait(seconds)
        return good(texts)

    return answer


def test_asks_in_batches_and_returns_unit_vectors_in_order(provider: Provider) -> None:
    texts = [f"goal {n}" for n in range(7)]
    assert embedder_for(provider, batch=3).embed(texts) == [expected(text) for text in texts]
    assert provider.texts == [texts[:3], texts[3:6], texts[6:]]
    assert provider.requests[0] == {
        "path": "/v1/embeddings",
        "model": "some-model",
        "encoding_format": "float",
        "input": texts[:3],
    }
    assert provider.headers[0]["authorization"] == "Bearer sk-secret"


def test_texts_without_words_are_not_sent(provider: Provider) -> None:
    vectors = embedder_for(provider).embed(["", "refund\ud800 it", " "])
    assert vectors == [None, expected("refund it"), None]
    assert provider.texts == [["refund it"]]
    assert embedder_for(provider).embed(["", "\ud800"]) == [None, None]
    assert len(provider.requests) == 1


def test_the_order_of_the_answer_is_by_index(provider: Provider) -> None:
    provider.answer = lambda texts: as_json({"data": items_of(texts)[::-1]})
    assert embedder_for(provider).embed(["a", "b", "c"]) == [expected(text) for text in "abc"]


def test_without_any_index_the_position_counts(provider: Provider) -> None:
    provider.answer = with_items({"embedding": vector_of("a")}, {"embedding": vector_of("b")})
    assert embedder_for(provider).embed(["a", "b"]) == [expected("a"), expected("b")]


def test_base64_vectors_are_read(provider: Provider) -> None:
    packed = base64.b64encode(struct.pack("<4f", 3.0, 0.0, 4.0, 0.0)).decode()
    provider.answer = with_items({"index": 0, "embedding": packed})
    assert embedder_for(provider).embed(["a"]) == [[0.6, 0.0, 0.8, 0.0]]


@pytest.mark.parametrize(
    "bad_vector",
    [
        [0.0, 0.0, 0.0, 0.0],
        [float("nan"), 1.0, 1.0, 1.0],
        [float("inf"), 1.0, 1.0, 1.0],
        [None, 1.0, 1.0, 1.0],
        [1e308, 1e308, 1e308, 1e308],
        [1.0, 2.0],
        [],
        [[1.0], [2.0], [3.0], [4.0]],
        {"a": 1},
        "no base64!",
        "QUJD",
        None,
        7,
    ],
)
def test_one_bad_vector_leaves_the_others_good(provider: Provider, bad_vector: object) -> None:
    def answer(texts: list[str]) -> Reply:
        items = items_of(texts)
        items[1]["embedding"] = bad_vector
        return as_json({"data": items})

    provider.answer = answer
    with pytest.raises(base.EmbeddingPartialError) as caught:
        embedder_for(provider).embed(["a", "b", "c"])
    assert caught.value.vectors == [expected("a"), None, expected("c")]
    assert list(caught.value.failed) == [1]


def test_a_wrong_dimension_is_named(provider: Provider) -> None:
    provider.answer = with_items({"index": 0, "embedding": [1.0] * 5})
    with pytest.raises(base.EmbeddingDimensionError) as caught:
        embedder_for(provider).embed(["a"])
    assert (caught.value.expected, caught.value.got) == (4, 5)
    assert str(caught.value) == "wrong_dimension"


def test_half_an_answer_keeps_the_half(provider: Provider) -> None:
    provider.answer = lambda texts: as_json({"data": items_of(texts)[:2]})
    with pytest.raises(base.EmbeddingPartialError) as caught:
        embedder_for(provider).embed(["a", "", "b", "c", "d"])
    assert caught.value.vectors == [expected("a"), None, expected("b"), None, None]
    assert {place: error.code for place, error in caught.value.failed.items()} == {
        3: "bad_answer",
        4: "bad_answer",
    }


def test_an_outage_between_batches_keeps_the_first_and_spares_the_provider(
    provider: Provider,
) -> None:
    provider.answers = [good]
    provider.answer = replying(Reply(status=401))
    with pytest.raises(base.EmbeddingPartialError) as caught:
        embedder_for(provider, batch=2).embed(["a", "b", "c", "d", "e", "f"])
    assert caught.value.vectors == [expected("a"), expected("b"), None, None, None, None]
    assert {error.code for error in caught.value.failed.values()} == {"status_401"}
    assert provider.texts == [["a", "b"], ["c", "d"]]


def test_a_text_that_is_refused_does_not_stop_the_other_batches(provider: Provider) -> None:
    provider.answers = [good, replying(Reply(status=400))]
    with pytest.raises(base.EmbeddingPartialError) as caught:
        embedder_for(provider, batch=1).embed(["a", "b", "c"])
    assert caught.value.vectors == [expected("a"), None, expected("c")]
    assert caught.value.failed[1].blames_text


@pytest.mark.parametrize(
    "answer",
    [
        replying(Reply(b"<html>gateway</html>")),
        replying(Reply(b"")),
        replying(Reply(b"\xff\xfe")),
        replying(Reply(b"[" * 50_000)),
        replying(Reply(b"[1]")),
        replying(Reply(b'{"data": {"0": []}}')),
        replying(Reply(b'{"data": [1, 2]}')),
        replying(Reply(b'{"error": {"message": "overloaded"}}')),
        with_items({"index": 0, "embedding": [1] * 4}, {"index": 0, "embedding": [2] * 4}),
        with_items({"index": 2, "embedding": [1] * 4}),
        with_items({"index": -1, "embedding": [1] * 4}),
        with_items({"index": True, "embedding": [1] * 4}),
        with_items({"index": "0", "embedding": [1] * 4}),
        with_items({"embedding": [1] * 4}),
        with_items(),
        replying(Reply(b'{"data": [{"index": 0, "embedding": [' + b"9" * 5_000 + b"]}]}")),
    ],
)
def test_garbage_is_one_named_error(provider: Provider, answer: Answer) -> None:
    provider.answer = answer
    with pytest.raises(base.EmbeddingAnswerError):
        embedder_for(provider).embed(["a", "b"], timeout=2.0)


def test_a_huge_answer_is_not_read_to_its_end(provider: Provider) -> None:
    provider.answer = replying(Reply(b" " * 30_000_000))
    with pytest.raises(base.EmbeddingTooLargeError):
        embedder_for(provider).embed(["a"])


def test_a_search_does_not_wait_longer_than_its_budget(provider: Provider) -> None:
    provider.answer = slow(provider, 5.0)
    started = time.monotonic()
    with pytest.raises(base.EmbeddingTimeoutError):
        embedder_for(provider).embed(["a"], timeout=0.3)
    assert 0.25 < time.monotonic() - started < 3
    assert len(provider.requests) == 1


def test_an_answer_that_trickles_in_does_not_stretch_the_budget(provider: Provider) -> None:
    body = json.dumps({"data": items_of(["a"])}).encode()
    provider.trickle = 0.05
    provider.answer = replying(Reply(body))
    started = time.monotonic()
    with pytest.raises(base.EmbeddingTimeoutError):
        embedder_for(provider).embed(["a"], timeout=0.3)
    assert 0.25 < time.monotonic() - started < 3


def test_a_budget_already_spent_sends_nothing(provider: Provider) -> None:
    with pytest.raises(base.EmbeddingTimeoutError):
        embedder_for(provider).embed(["a"], timeout=0.0)
    assert provider.requests == []


def test_many_searches_at_a_hanging_provider_all_keep_their_budget(provider: Provider) -> None:
    provider.answer = slow(provider, 5.0)
    embedder = embedder_for(provider)
    started = time.monotonic()
    for _ in range(3):
        with pytest.raises(base.EmbeddingTimeoutError):
            embedder.embed(["a"], timeout=0.1)
    assert time.monotonic() - started < 4


@pytest.mark.parametrize("status", [429, 500, 503])
def test_background_work_retries_what_may_pass(provider: Provider, status: int) -> None:
    provider.answers = [replying(Reply(status=status, headers={"retry-after": "0"}))]
    assert embedder_for(provider).embed(["a"]) == [expected("a")]
    assert provider.texts == [["a"], ["a"]]


def test_background_work_gives_up_after_three_attempts(provider: Provider) -> None:
    provider.answer = replying(Reply(status=500))
    with pytest.raises(base.EmbeddingStatusError) as caught:
        embedder_for(provider).embed(["a"])
    assert caught.value.code == "status_500"
    assert len(provider.requests) == 3


@pytest.mark.parametrize("status", [301, 400, 401, 404])
def test_background_work_does_not_retry_what_will_not_pass(provider: Provider, status: int) -> None:
    provider.answer = replying(Reply(status=status))
    with pytest.raises(base.EmbeddingStatusError):
        embedder_for(provider).embed(["a"])
    assert len(provider.requests) == 1


def test_a_search_never_retries(provider: Provider) -> None:
    provider.answer = replying(Reply(status=503))
    with pytest.raises(base.EmbeddingStatusError):
        embedder_for(provider).embed(["a"], timeout=2.0)
    assert len(provider.requests) == 1


def test_nobody_listening_is_unreachable(provider: Provider) -> None:
    embedder = HttpEmbedder(
        url="http://127.0.0.1:1/v1",
        model="m",
        dimensions=DIMENSIONS,
        minimum=0.5,
        failure_threshold=0.9,
    )
    with pytest.raises(base.EmbeddingUnreachableError):
        embedder.embed(["a"], timeout=2.0)


def test_neither_key_nor_text_is_logged_or_named_in_errors(
    provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    provider.answer = replying(Reply(status=500))
    with pytest.raises(base.EmbeddingStatusError) as caught:
        embedder_for(provider).embed(["my private goal"])
    written = caplog.text + repr(caught.value) + str(caught.value)
    assert "sk-secret" not in written
    assert "private" not in written


@pytest.mark.parametrize(
    "change",
    [
        {"url": "ftp://host/v1"},
        {"url": "host/v1"},
        {"url": "https://name:word@host/v1"},
        {"api_key": "a\nb"},
        {"api_key": "clé"},
        {"api_key": "two words"},
    ],
)
def test_settings_no_request_could_carry_are_refused(change: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="the embedder's"):
        HttpEmbedder(
            url=change.get("url", "https://host/v1"),
            api_key=change.get("api_key", ""),
            model="m",
            dimensions=4,
            minimum=0.5,
            failure_threshold=0.9,
        )
