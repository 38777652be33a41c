"""The default embedder: WordLlama, whose weights lie inside its wheel. No download, no GPU."""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from episodes.embedding.base import Vector, embeddable, unit_vector

MODEL = "wordllama-l2_supercat-256"
DIMENSIONS = 256

# Measured 2026-11-30 by `python -m benchmarks.thresholds`; table and reasons in
# benchmarks/README.md. Minimum: the 95th percentile of all unrelated pairs. Failure threshold: the
# 99.5th of unrelated pairs within one domain, which are the ones that a store really holds.
MINIMUM = 0.45
FAILURE_THRESHOLD = 0.80

# Texts are padded to the longest beside them, so both numbers together bound the memory (32 MB).
MAX_TOKENS = 1024
PADDED_TOGETHER = 16


class LocalEmbedder:
    name = "local"
    model = MODEL
    dimensions = DIMENSIONS
    minimum = MINIMUM
    failure_threshold = FAILURE_THRESHOLD
    batch = 64

    def __init__(self) -> None:
        self._lock = Lock()
        self._model: Any = None

    def embed(self, texts: Sequence[str], *, timeout: float | None = None) -> list[Vector | None]:
        """See Embedder. `timeout` is not needed: 20,000 short texts take a second."""
        prepared = [embeddable(text) for text in texts]
        wanted = [text for text in prepared if text]
        if not wanted:
            return [None] * len(prepared)
        rows = iter(self._loaded().embed(wanted, norm=False, batch_size=PADDED_TOGETHER))
        return [
            unit_vector(next(rows), dimensions=DIMENSIONS) if text else None for text in prepared
        ]

    def _loaded(self) -> Any:
        """Load on first use (0.3 s): most commands never embed anything."""
        if self._model is None:
            with self._lock:
                if self._model is None:
                    self._model = _load()
        return self._model


def _load() -> Any:
    # Its thread pool does not survive a fork of the worker and gains nothing on short texts.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    package = _import_without_its_logging()
    model = package.WordLlama.load(
        config="l2_supercat",
        dim=DIMENSIONS,
        cache_dir=Path(package.__file__).parent,  # the wheel's own folder, not the home folder
        disable_download=True,
    )
    model.tokenizer.enable_truncation(max_length=MAX_TOKENS)
    return model


def _import_without_its_logging() -> Any:
    """Import wordllama, which sets up the root logger as a side effect, and take that back."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    package = importlib.import_module("wordllama")
    root.handlers[:] = handlers
    root.setLevel(level)
    return package
