"""Reading the answer of an OpenAI-compatible `/embeddings` endpoint. Pure."""

from __future__ import annotations

import base64
import binascii
import json

import numpy as np

from episodes.embedding.base import EmbeddingAnswerError, EmbeddingError, Vector, unit_vector

Outcome = Vector | EmbeddingError


def read_answer(body: bytes, *, count: int, dimensions: int) -> list[Outcome]:
    """Return for each of the `count` texts sent its unit vector, or why it has none.

    Items go by their `index`, whatever their order; without any index by position, which needs
    all of them. Raises EmbeddingAnswerError when nothing of the answer can be paired.
    """
    outcomes: list[Outcome] = [EmbeddingAnswerError() for _ in range(count)]
    for position, item in _paired(_items(body), count=count):
        try:
            outcomes[position] = unit_vector(_numbers(item), dimensions=dimensions)
        except EmbeddingError as error:
            outcomes[position] = error
    return outcomes


def _items(body: bytes) -> list[dict[str, object]]:
    try:
        # The stdlib reader takes a bare NaN: one bad vector must not cost the whole batch.
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise EmbeddingAnswerError from error
    data = document.get("data") if isinstance(document, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise EmbeddingAnswerError
    return data


def _paired(items: list[dict[str, object]], *, count: int) -> list[tuple[int, dict[str, object]]]:
    if all("index" not in item for item in items):
        if len(items) != count:
            raise EmbeddingAnswerError
        return list(enumerate(items))
    paired: dict[int, dict[str, object]] = {}
    for item in items:
        index = item.get("index")
        # Two vectors for one text, or one for no text: the numbering cannot be trusted at all.
        if type(index) is not int or not 0 <= index < count or index in paired:
            raise EmbeddingAnswerError
        paired[index] = item
    return list(paired.items())


def _numbers(item: dict[str, object]) -> object:
    embedding = item.get("embedding")
    if not isinstance(embedding, str):
        return embedding
    try:
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
    except (binascii.Error, ValueError) as error:
        raise EmbeddingAnswerError from error
