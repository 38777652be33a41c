"""Tables by month (architecture.md, "Room to grow"): an erasure takes its own rows from each."""

from __future__ import annotations

import pytest
from django.db import connection

from memoryadmin.lib.erasable import Subject, count_rows, delete_rows

pytestmark = pytest.mark.django_db

WANTED = "app_id = %(app_id)s AND user_id = %(user_id)s"
MONTHS = ("2026-01", "2026-02", "2026-03")


@pytest.fixture
def log(db: None) -> str:
    """A log like the recall log, of three months; in each a row of each subject, in turns: every
    subject's first row stands where another's does in the next month."""
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE parted_log (app_id bigint, user_id text, at date, PRIMARY KEY (app_id,"
            " at, user_id)) PARTITION BY RANGE (at)"
        )
        for number, month in enumerate(MONTHS):
            after = MONTHS[number + 1] if number < 2 else "2026-04"
            cursor.execute(
                f"CREATE TABLE parted_log_{number} PARTITION OF parted_log"
                f" FOR VALUES FROM ('{month}-01') TO ('{after}-01')"
            )
            for place in range(3):
                cursor.execute(
                    "INSERT INTO parted_log VALUES (1, %s, %s)",
                    [f"user-{(number + place) % 3}", f"{month}-15"],
                )
    return "parted_log"


def subject(user_id: str) -> Subject:
    return Subject(1, user_id, bytes(32))


def test_the_same_place_of_another_partition_stays(log: str) -> None:
    assert delete_rows(log, WANTED, subject("user-1"), 1_000) == 3

    left = [count_rows(f"FROM {log} WHERE {WANTED}", subject(f"user-{n}")) for n in range(3)]
    assert left == [3, 0, 3]


def test_it_goes_by_batches(log: str) -> None:
    gone = [delete_rows(log, WANTED, subject("user-1"), 1) for _ in range(4)]

    assert gone == [1, 1, 1, 0]
    assert count_rows(f"FROM {log} WHERE true", subject("")) == 6
