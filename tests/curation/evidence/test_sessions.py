"""The CSV of affected sessions: whole, and harmless in a spreadsheet."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from io import StringIO
from uuid import UUID

import pytest

from curation.evidence.sessions import COLUMNS, csv_lines
from episodes.reach import Ending, ReachedSession, ServedAs

AT = datetime(2026, 5, 1, 12, tzinfo=UTC)


def session(user_id: str, session_id: str | None, *, hour: int = 12) -> ReachedSession:
    return ReachedSession(
        user_id=user_id,
        session_id=session_id,
        depth=1,
        recalls=2,
        first_recalled_at=AT.replace(hour=hour),
        first=ServedAs(UUID(int=1), 1, 1, "success", "tool"),
        ended=(Ending(UUID(int=2), "failure", "tool"), Ending(UUID(int=3), "success", None)),
    )


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "  =cmd|'/C calc'!A0",
        "\t=1",
        "\r=1",
        "\n=1",
        "\uff1d1",
        "\u00a0=1",
        "|calc",
        "%0A",
    ],
)
def test_what_a_spreadsheet_would_run_is_marked_as_text(text: str) -> None:
    [_, line] = csv_lines([session(text, text)])

    user, name, *_ = next(csv.reader(StringIO(line, newline="")))
    assert (user, name) == (f"'{text}", f"'{text}")


def test_a_line_a_session_oldest_first() -> None:
    lines = "".join(csv_lines([session("b", "s-2"), session("a", None, hour=9)]))

    rest = ["1", "2"], [str(UUID(int=1)), "1", "1", "success", "failure success"]
    written = f"{UUID(int=2)} {UUID(int=3)}"
    assert list(csv.reader(StringIO(lines, newline=""))) == [
        list(COLUMNS),
        ["a", "", *rest[0], "2026-05-01T09:00:00Z", *rest[1], written],
        ["b", "s-2", *rest[0], "2026-05-01T12:00:00Z", *rest[1], written],
    ]
