from __future__ import annotations

import pytest

from episodes.ingest.outcomes import combine, normalise_outcome


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        ("success", "success"),
        ("resolved", "success"),
        ("failed", "failure"),
        ("partial", "partial"),
        ("escalated", "escalated"),
        ("abandoned", "abandoned"),
        ("unknown", "unknown"),
        (" SUCCESS\n", "success"),
        ("succeeded", None),
        ("", None),
        (True, None),
        (1, None),
        (None, None),
        ({"status": "success"}, None),
        (["success"], None),
    ],
)
def test_six_words_and_two_more(value: object, outcome: str | None) -> None:
    assert normalise_outcome(value) == outcome


@pytest.mark.parametrize(
    ("values", "combined"),
    [
        ((), (None, None)),
        ((None, ""), (None, None)),
        (("success",), ("success", None)),
        (("success", "resolved", None), ("success", None)),
        (("unknown", "failure"), ("failure", None)),
        (("unknown",), ("unknown", None)),
        (("success", "failure"), ("unknown", "multiple_outcomes")),
        (("partial", "success"), ("unknown", "multiple_outcomes")),
        (({"status": "success"},), ("unknown", "unrecognised_outcome")),
        (("success", 1), ("unknown", "unrecognised_outcome")),
    ],
)
def test_what_a_session_says_in_all(
    values: tuple[object, ...], combined: tuple[str | None, str | None]
) -> None:
    assert combine(values) == combined
