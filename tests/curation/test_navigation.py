"""The rail: each place has a key of its own."""

from __future__ import annotations

from curation.navigation import PLACES


def test_no_two_places_have_the_same_key() -> None:
    keys = [place.key for place in PLACES]

    assert sorted(set(keys)) == sorted(keys)
