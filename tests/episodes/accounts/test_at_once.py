"""A name that is given up and asked for in the same moment."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from episodes.accounts import BadAccountNameError, create_account
from episodes.accounts.standing import delete_account
from tests.curation.cast import make_user
from tests.factories import ACTOR


@pytest.mark.django_db(transaction=True)
def test_a_name_that_is_being_left_is_not_given_away() -> None:
    ben = make_user("ben")
    is_asked = threading.Event()

    def ask() -> str:
        is_asked.set()
        try:
            create_account(name="ben", password=None, actor=ACTOR)
        except BadAccountNameError as error:
            return str(error)
        finally:
            connection.close()
        return "given away"

    with ThreadPoolExecutor(1) as others, transaction.atomic():
        delete_account(account=ben, actor=ACTOR)
        answer = others.submit(ask)
        assert is_asked.wait(30)
        wait_for_a_waiting_insert()

    assert answer.result(30) == "Somebody of that name has left, and what they decided stays."
    assert not User.objects.filter(username="ben").exists()


def wait_for_a_waiting_insert() -> None:
    """Return when another connection waits for this one's commit."""
    with connection.cursor() as cursor:
        for _ in range(3_000):
            cursor.execute(
                "SELECT pg_sleep(0.01), count(*) FROM pg_locks"
                " WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"
            )
            if cursor.fetchone()[1]:
                return
    raise TimeoutError
