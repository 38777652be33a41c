"""The embedder this installation is set to."""

from __future__ import annotations

import os
from functools import cache

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from episodes.embedding.base import Embedder
from episodes.embedding.http import HttpEmbedder
from episodes.embedding.local import LocalEmbedder


@cache
def get_embedder() -> Embedder:
    """Return the embedder named by MEMORYADMIN_EMBEDDER, one for the whole process.

    Raises ImproperlyConfigured when the settings describe none.
    """
    if settings.EMBEDDER == "local":
        return LocalEmbedder()
    if settings.EMBEDDER == "http":
        return _http_embedder()
    raise ImproperlyConfigured('MEMORYADMIN_EMBEDDER must be "local" or "http"')


def _http_embedder() -> Embedder:
    for name in ("EMBEDDER_URL", "EMBEDDER_MODEL", "EMBEDDER_DIMENSIONS"):
        if not getattr(settings, name):
            raise ImproperlyConfigured(f"MEMORYADMIN_{name} is not set: the embedder is http")
    try:
        return HttpEmbedder(
            url=settings.EMBEDDER_URL,
            model=settings.EMBEDDER_MODEL,
            dimensions=settings.EMBEDDER_DIMENSIONS,
            minimum=settings.EMBEDDER_MINIMUM,
            failure_threshold=settings.EMBEDDER_FAILURE_THRESHOLD,
            api_key=settings.EMBEDDER_API_KEY,
            timeout=settings.EMBEDDER_TIMEOUT,
            send_dimensions=settings.EMBEDDER_SEND_DIMENSIONS,
            batch=settings.EMBEDDER_BATCH,
        )
    except ValueError as error:
        raise ImproperlyConfigured(str(error)) from error


# A forked worker must not share its parent's connections and threads.
os.register_at_fork(after_in_child=get_embedder.cache_clear)
