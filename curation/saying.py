"""What a person says when acting: masked before it is kept, and never kept about an erased subject."""

from __future__ import annotations

from episodes.ingest.storable import Storable
from episodes.tombstones import refuse_erased

WORDS_LENGTH = 1_000
NOTHING_KEPT = "Nothing of this can be kept. Say it in other words."


class NothingKeptError(ValueError):
    """Something has to be said, and nothing was, or masking left nothing of it."""


def kept_words(*, app_id: int, user_id: str | None, words: str, limit: int = WORDS_LENGTH) -> str:
    """Return `words` as they may be stored. Belongs into the writing transaction.

    `user_id`: the subject that they are about. Raises SubjectErasedError, NothingKeptError.
    """
    if user_id is not None:
        refuse_erased(app_id=app_id, user_id=user_id)
    return demand_words(masked_words(user_id=user_id, words=words, limit=limit))


def masked_words(*, user_id: str | None, words: str, limit: int = WORDS_LENGTH) -> str:
    """Return `words` masked, where nothing has to be said, or the subject was asked about before."""
    return Storable(user_id).text(words, limit=limit)


def demand_words(said: str) -> str:
    """Raise NothingKeptError unless something is left."""
    if not said:
        raise NothingKeptError
    return said
