from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memoryadmin.lib.iso8601 import NoMomentError, read_moment

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "written",
    [
        "2026-03-01T12:00:00Z",
        "2026-03-01t12:00:00.000Z",
        "2026-03-01 12:00:00,000000000Z",
        "2026-03-01T12:00Z",
        "2026-03-01T12Z",
        "20260301T120000Z",
        "2026-W09-7T12:00:00Z",
        "2026-03-01T14:00:00+02:00",
        "2026-03-01T14:00:00+0200",
        "2026-03-01T07:00:00-05",
    ],
)
def test_one_moment_in_its_spellings(written: str) -> None:
    assert read_moment(written) == NOON


def test_fractions_are_kept_to_the_microsecond() -> None:
    read = read_moment("2026-03-01T12:00:00.123456789Z")

    assert read - NOON == timedelta(microseconds=123456)


@pytest.mark.parametrize("written", ["2026-03-01T12:00:00", "2026-03-01"])
def test_without_an_offset_it_is_naive(written: str) -> None:
    assert read_moment(written).tzinfo is None


@pytest.mark.parametrize(
    "written",
    [
        "",
        "2026-03-01T12:00:00\0Z",
        "2026-03-01T12:00:00XZ",
        "2026-03-01T12:00:00 Z",
        "2026-03-01T12:00:00.Z",
        "2026-03-01T12:00:00.1XZ",
        "2026-03-01T12:00:00Z ",
        "2026-03-01T12:00:00Z\n",
        "2026-03-01X12:00:00Z",
        "2026-03-01T25:00:00Z",
        "2026-02-30T12:00:00Z",
        "\u0662026-03-01T12:00:00Z",
        "1772366400",
    ],
)
def test_anything_else_is_none(written: str) -> None:
    with pytest.raises(NoMomentError):
        read_moment(written)
