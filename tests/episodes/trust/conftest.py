"""Shadow recall asks the provider of vectors, too."""

from __future__ import annotations

from tests.episodes.embedding.conftest import provider, provider_in_use

__all__ = ["provider", "provider_in_use"]
