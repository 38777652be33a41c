"""What every embedder answers, and the ways in which it can fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

Vector = list[float]

# Below this a vector points nowhere: dividing by it would only blow up rounding noise.
SMALLEST_NORM = 1e-9

# As long as a query may be. Models stop reading at about 8,000 tokens or refuse the request.
MAX_CHARACTERS = 8_000


class Embedder(Protocol):
    """Turns texts into unit vectors. `minimum` and `failure_threshold` are cosines of its model;
    `batch` is how many texts it takes at a time (background work leases no more than that).
    """

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    @property
    def minimum(self) -> float: ...
    @property
    def failure_threshold(self) -> float: ...
    @property
    def batch(self) -> int: ...

    def embed(self, texts: Sequence[str], *, timeout: float | None = None) -> list[Vector | None]:
        """Return one vector of length 1 per text, in order; None for a text that has none.

        `timeout` is the time in seconds for the whole call, without retries (a search waits for
        it); None is for background work, which retries by itself.
        Raises EmbeddingError; EmbeddingPartialError carries what did succeed.
        """
        ...


class EmbeddingError(Exception):
    """`code` is short and holds nothing of the text, so it can be stored and logged."""

    code: str = "error"
    transient: bool = False  # the same request may well succeed a moment later
    blames_text: bool = False  # one text of the batch may be the cause

    def __str__(self) -> str:
        return self.code


class EmbeddingTimeoutError(EmbeddingError):
    code = "timeout"
    transient = True


class EmbeddingUnreachableError(EmbeddingError):
    code = "unreachable"
    transient = True


class EmbeddingStatusError(EmbeddingError):
    """The provider answered with an HTTP status other than 200."""

    def __init__(self, status: int, *, retry_after: float | None = None) -> None:
        super().__init__(status)
        self.status = status
        self.retry_after = retry_after
        self.code = f"status_{status}"
        self.transient = status in {408, 425, 429} or status >= 500
        self.blames_text = status in {400, 413, 422}


class EmbeddingAnswerError(EmbeddingError):
    """The answer is not what the interface promises: garbage, too few items, no numbers."""

    code = "bad_answer"


class EmbeddingTooLargeError(EmbeddingError):
    code = "answer_too_large"


class EmbeddingDimensionError(EmbeddingError):
    code = "wrong_dimension"

    def __init__(self, *, expected: int, got: int) -> None:
        super().__init__(expected, got)
        self.expected = expected
        self.got = got


class EmbeddingValueError(EmbeddingError):
    """The vector is zero or holds NaN or infinity."""

    code = "no_direction"


class EmbeddingPartialError(EmbeddingError):
    """Some texts have their vector, others failed: the good half is kept."""

    code = "partial"

    def __init__(
        self, *, vectors: Sequence[Vector | None], failed: Mapping[int, EmbeddingError]
    ) -> None:
        super().__init__(sorted(failed))
        self.vectors = list(vectors)
        self.failed = dict(failed)


def embeddable(text: str) -> str:
    """Return what of the text a model can read; '' has no vector.

    Lone surrogates cannot be encoded at all, outer white space says nothing.
    """
    kept = text.strip()[:MAX_CHARACTERS]
    return kept.encode("utf-16", "surrogatepass").decode("utf-16", "ignore").strip()


def unit_vector(values: object, *, dimensions: int) -> Vector:
    """Return `values` scaled to length 1. Raises EmbeddingError when that cannot be done."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise EmbeddingAnswerError from error
    if array.ndim != 1:
        raise EmbeddingAnswerError
    if array.size != dimensions:
        raise EmbeddingDimensionError(expected=dimensions, got=array.size)
    with np.errstate(all="ignore"):
        norm = float(np.linalg.norm(array))
    if not np.isfinite(norm) or norm < SMALLEST_NORM:
        raise EmbeddingValueError
    unit: Vector = (array / norm).tolist()
    return unit
