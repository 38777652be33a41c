"""Reading an agent's query: masked first, then its words, identifiers and vector."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from episodes.embedding import get_embedder
from episodes.embedding.base import EmbeddingError
from episodes.embedding.generations import embedder_for
from episodes.embedding.local import LocalEmbedder
from episodes.embedding.text import embedding_text
from episodes.ingest.evidence import GOAL_LENGTH
from episodes.ingest.storable import Storable
from episodes.masking.recognisers import load_recognisers
from episodes.ranking import Generation
from episodes.tokens import fts_terms, identifier_tokens
from episodes.wire import QueryVector


@dataclass(frozen=True, slots=True)
class Query:
    """What the statement needs of a query, all of it from the masked `text`.

    `vector` None: there is nothing to embed, or (`degraded`) the embedder failed or was late.
    """

    text: str
    words: tuple[str, ...]
    tokens: tuple[str, ...]
    vector: QueryVector | None
    degraded: bool


def read_query(text: str, *, user_id: str, generation: Generation | None) -> Query:
    """Make a query storable before anything is made of it, just as goals were."""
    masked = Storable(user_id).text(text, limit=GOAL_LENGTH)
    vector, degraded = _embed(masked, generation)
    return Query(masked, fts_terms(masked), identifier_tokens(masked), vector, degraded)


def _embed(text: str, generation: Generation | None) -> tuple[QueryVector | None, bool]:
    """Return the vector in the app's generation, and whether search must do without it although
    the query has one. An embedder that fails or is late never fails a search."""
    embedder = embedder_for(generation.name) if generation else None
    if embedder is None:
        return None, True
    try:
        [values] = embedder.embed([embedding_text(text, "")], timeout=settings.SEARCH_EMBED_SECONDS)
    except EmbeddingError:
        return None, True
    return (None if values is None else QueryVector(values)), False


def load_models() -> None:
    """Load what reading a query needs, before the first one comes."""
    load_recognisers()
    embedder = get_embedder()
    if isinstance(embedder, LocalEmbedder):
        embedder.embed(["warm"])
