from __future__ import annotations


def words(written: str) -> frozenset[str]:
    """A list of words as one reads it best: in lines."""
    return frozenset(written.split())
