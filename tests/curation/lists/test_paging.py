from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from curation.lists.paging import Page, read_page
from episodes.models import App, Episode
from memoryadmin.lib import clock
from memoryadmin.lib.cursors import BadCursorError, Cursor
from tests.factories import make_episode

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def read(app: App, cursor: str | None = None) -> Page[Episode]:
    at = Cursor.read(cursor) if cursor else None
    return read_page(Episode.objects.of_app(app), by="received_at", cursor=at, size=3)


def named(page: Page[Episode]) -> list[str | None]:
    return [row.session_id for row in page.rows]


def make_rows(app: App, n: int, *, apart: timedelta) -> None:
    for number in range(n):
        with clock.at(BEGAN + number * apart):
            make_episode(app, session_id=f"s{number}")


@pytest.mark.parametrize("apart", [timedelta(hours=1), timedelta(0)])
def test_every_row_is_on_one_page_both_ways(app: App, apart: timedelta) -> None:
    make_rows(app, 8, apart=apart)
    every = sorted(Episode.objects.all(), key=lambda e: (e.received_at, e.id), reverse=True)

    first = read(app)
    second = read(app, first.older)
    third = read(app, second.older)
    back = read(app, third.newer)

    assert [*first.rows, *second.rows, *third.rows] == every
    assert (first.newer, third.older) == (None, None)
    assert named(back) == named(second)
    assert named(read(app, back.newer)) == named(first)


def test_a_row_that_arrives_shifts_nothing(app: App) -> None:
    make_rows(app, 5, apart=timedelta(hours=1))
    first = read(app)

    make_episode(app, session_id="late")

    assert named(read(app, first.older)) == ["s1", "s0"]


def test_the_first_page_has_no_newer_one_when_read_backwards(app: App) -> None:
    make_rows(app, 4, apart=timedelta(hours=1))

    back = read(app, read(app, read(app).older).newer)

    assert (named(back), back.newer) == (["s3", "s2", "s1"], None)
    assert back.older is not None


def test_a_cursor_reads_back() -> None:
    cursor = Cursor(BEGAN, uuid4(), back=True)

    assert Cursor.read(str(cursor)) == cursor


@pytest.mark.parametrize("text", ["", "x", "!!!!", "Zg==", "\x00", "ä", "Zm9v" * 50, "f" * 300])
def test_reading_refuses_other_texts(text: str) -> None:
    with pytest.raises(BadCursorError):
        Cursor.read(text)


@pytest.mark.parametrize("offset", ["+23:59", "-16:00", "+00:00:01.5", "+01:00"])
def test_reading_refuses_a_time_that_is_not_utc(offset: str) -> None:
    """PostgreSQL cannot read every offset that Python can."""
    written = f"f|2026-01-01T00:00:00{offset}|{uuid4().hex}"

    with pytest.raises(BadCursorError):
        Cursor.read(base64.urlsafe_b64encode(written.encode()).decode().rstrip("="))


def test_reading_refuses_a_time_without_zone() -> None:
    naive = str(Cursor(datetime(2026, 1, 1), uuid4()))  # noqa: DTZ001

    with pytest.raises(BadCursorError):
        Cursor.read(naive)
