"""An embedder behind an OpenAI-compatible `/embeddings` endpoint."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError

import httpx
import stamina

from episodes.embedding.answer import Outcome, read_answer
from episodes.embedding.base import (
    EmbeddingError,
    EmbeddingPartialError,
    EmbeddingStatusError,
    EmbeddingTimeoutError,
    EmbeddingTooLargeError,
    EmbeddingUnreachableError,
    Vector,
    embeddable,
)

BATCH = 64
ATTEMPTS = 3
RETRY_SECONDS = 10.0  # after which no further attempt begins; a task may run for 45
CONNECT_SECONDS = 3.0

# A number takes at most 25 characters as JSON; the rest is for names, model and usage.
BYTES_PER_NUMBER = 32
BYTES_AROUND = 65_536

# Threads that wait for the provider. More callers than that queue, and their time runs too.
WAITING = 8


class HttpEmbedder:
    name = "http"

    def __init__(
        self,
        *,
        url: str,
        model: str,
        dimensions: int,
        minimum: float,
        failure_threshold: float,
        api_key: str = "",
        timeout: float = 10.0,
        send_dimensions: bool = False,
        batch: int = BATCH,
    ) -> None:
        """`url` is the base (`https://host/v1`); `timeout` the seconds for one request.

        Only some models can shorten their vectors when `dimensions` is sent, so sending it is a
        choice. Raises ValueError for a URL or key that no request could carry.
        """
        self.model = model
        self.dimensions = dimensions
        self.minimum = minimum
        self.failure_threshold = failure_threshold
        self._timeout = timeout
        self.batch = batch
        self._parameters: dict[str, object] = {"model": model, "encoding_format": "float"}
        if send_dimensions:
            self._parameters["dimensions"] = dimensions
        # Compression would let a small answer unpack into a huge one within one read.
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if api_key:
            headers["Authorization"] = f"Bearer {_checked_key(api_key)}"
        self._client = httpx.Client(headers=headers, follow_redirects=False)
        self._url = _endpoint(url)
        self._pool = ThreadPoolExecutor(max_workers=WAITING, thread_name_prefix="embedder")

    def embed(self, texts: Sequence[str], *, timeout: float | None = None) -> list[Vector | None]:
        """See Embedder."""
        prepared = [embeddable(text) for text in texts]
        wanted = [position for position, text in enumerate(prepared) if text]
        deadline = None if timeout is None else time.monotonic() + timeout
        outcomes = self._outcomes([prepared[position] for position in wanted], deadline=deadline)
        vectors: list[Vector | None] = [None] * len(prepared)
        failed: dict[int, EmbeddingError] = {}
        for position, outcome in zip(wanted, outcomes, strict=True):
            if isinstance(outcome, EmbeddingError):
                failed[position] = outcome
            else:
                vectors[position] = outcome
        if failed and len(failed) == len(wanted):
            raise next(iter(failed.values()))
        if failed:
            raise EmbeddingPartialError(vectors=vectors, failed=failed)
        return vectors

    def _outcomes(self, texts: list[str], *, deadline: float | None) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for start in range(0, len(texts), self.batch):
            batch = texts[start : start + self.batch]
            try:
                body = self._retried(batch) if deadline is None else self._once(batch, deadline)
                outcomes += read_answer(body, count=len(batch), dimensions=self.dimensions)
            except EmbeddingError as error:
                outcomes += [error] * len(batch)
                if not error.blames_text:
                    # The provider is in trouble: the other batches would only add to it.
                    return outcomes + [error] * (len(texts) - len(outcomes))
        return outcomes

    def _retried(self, texts: list[str]) -> bytes:
        body = b""
        for attempt in stamina.retry_context(
            on=_worth_retrying,
            attempts=ATTEMPTS,
            timeout=RETRY_SECONDS,
            wait_initial=0.2,
            wait_max=3.0,
            wait_jitter=0.3,
        ):
            with attempt:
                body = self._once(texts, time.monotonic() + self._timeout)
        return body

    def _once(self, texts: list[str], deadline: float) -> bytes:
        """Ask in a thread: no timeout of the client covers name lookup or a trickling answer."""
        asked = self._pool.submit(self._exchange, texts, deadline)
        try:
            return asked.result(timeout=max(deadline - time.monotonic(), 0.0))
        except FutureTimeoutError as error:
            asked.cancel()
            raise EmbeddingTimeoutError from error

    def _exchange(self, texts: list[str], deadline: float) -> bytes:
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            raise EmbeddingTimeoutError
        limits = httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))
        payload = {**self._parameters, "input": texts}
        try:
            with self._client.stream("POST", self._url, json=payload, timeout=limits) as response:
                if response.status_code != httpx.codes.OK:
                    raise EmbeddingStatusError(
                        response.status_code, retry_after=_retry_after(response.headers)
                    )
                return self._bounded(response, count=len(texts), deadline=deadline)
        except httpx.TimeoutException as error:
            raise EmbeddingTimeoutError from error
        except httpx.HTTPError as error:
            raise EmbeddingUnreachableError from error

    def _bounded(self, response: httpx.Response, *, count: int, deadline: float) -> bytes:
        most = BYTES_AROUND + count * self.dimensions * BYTES_PER_NUMBER
        body = bytearray()
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > most:
                raise EmbeddingTooLargeError
            if time.monotonic() > deadline:
                raise EmbeddingTimeoutError
        return bytes(body)


def _worth_retrying(error: Exception) -> bool | float:
    """Return whether to retry, or after how many seconds when the provider said so."""
    if not isinstance(error, EmbeddingError) or not error.transient:
        return False
    asked_to_wait = isinstance(error, EmbeddingStatusError) and error.retry_after
    return asked_to_wait or True


def _retry_after(headers: httpx.Headers) -> float | None:
    """Return the seconds the provider asks for; a date or nonsense counts as not said."""
    value = headers.get("retry-after", "")
    return min(float(value), RETRY_SECONDS) if value.isascii() and value.isdigit() else None


def _endpoint(url: str) -> httpx.URL:
    base = httpx.URL(url)
    if base.scheme not in {"http", "https"} or not base.host:
        raise ValueError("the embedder's URL must start with http:// or https:// and name a host")
    if base.userinfo:
        # httpx logs the URL of each request.
        raise ValueError("the embedder's URL must hold no credentials; use the API key")
    return base.copy_with(path=base.path.rstrip("/") + "/embeddings")


def _checked_key(key: str) -> str:
    # A key that no header can carry would turn up in the error of the client.
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ValueError("the embedder's API key must be printable ASCII without spaces")
    return key
