"""Wrong tries wait, longer each time, never for good; the rule is one for all processes."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.conf import settings

from episodes.accounts.throttle import (
    FREE,
    FREE_OF_AN_ADDRESS,
    Try,
    counters_of,
    give_back,
    purge_forgotten,
    take_try,
)
from episodes.accounts.throttle import TooManyTriesError as TooManyTries
from episodes.models import SignInTries
from memoryadmin.lib import clock
from tests import conftest
from tests.curation.cast import make_user
from tests.memoryadmin.running import ROOT, environment

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


def guess(name: str = "ada", address: str = "10.0.0.1", browser: str = "") -> Try:
    return take_try(counters_of(name=name, address=address, browser=browser))


def wait_of(name: str = "ada", address: str = "10.0.0.1", browser: str = "") -> int:
    """Return the seconds that the next try has to wait."""
    with pytest.raises(TooManyTries) as refused:
        guess(name, address, browser)
    return refused.value.seconds


def test_the_wait_doubles_up_to_a_quarter_of_an_hour(db: None) -> None:
    now, waits = NOON, []
    for number in range(FREE + 8):
        with clock.at(now):
            guess()
        if number >= FREE:
            with clock.at(now):
                waits.append(wait_of())
            now += timedelta(seconds=waits[-1])

    assert waits == [31, 61, 121, 241, 481, 901, 901, 901]


def test_a_try_during_the_wait_does_not_make_it_longer(db: None) -> None:
    with clock.at(NOON):
        for _ in range(FREE + 1):
            guess()
    with clock.at(NOON + timedelta(seconds=20)):
        assert [wait_of() for _ in range(50)] == [11] * 50

    with clock.at(NOON + timedelta(seconds=30)):
        guess()


def test_the_right_password_gives_the_try_back(db: None) -> None:
    with clock.at(NOON):
        for _ in range(FREE):
            guess()
        give_back(guess())
        for _ in range(FREE):
            guess()

    # of the address's own tries only the right one is taken back
    assert sorted(SignInTries.objects.values_list("failures", flat=True)) == [FREE, 2 * FREE]


def test_a_day_later_all_is_forgotten(db: None) -> None:
    with clock.at(NOON):
        for _ in range(FREE + 1):
            guess()
    with clock.at(NOON + timedelta(days=1)):
        for _ in range(FREE):
            guess()
    with clock.at(NOON + timedelta(days=3)):
        assert purge_forgotten() == 2
    assert not SignInTries.objects.exists()


def test_one_address_may_not_try_every_name(db: None) -> None:
    with clock.at(NOON):
        for number in range(FREE_OF_AN_ADDRESS + 1):
            guess(name=f"name-{number}")

        assert wait_of(name="another") == 31
        guess(name="another", address="10.0.0.2")


def test_guessing_elsewhere_does_not_keep_a_known_browser_waiting(db: None) -> None:
    with clock.at(NOON):
        for _ in range(FREE + 1):
            guess(address="10.9.9.9")

        assert wait_of() == 31
        guess(browser="mark")
        for _ in range(FREE):
            guess(browser="mark")
        assert wait_of(browser="mark") == 31


def test_nobody_is_told_from_the_table_who_tried(db: None) -> None:
    guess(name="ada", address="10.0.0.1")

    kept = " ".join(SignInTries.objects.values_list("key", flat=True))
    assert "ada" not in kept
    assert "10.0.0.1" not in kept
    assert {len(key) for key in kept.split()} == {64}


_GUESSES = """
import sys, django
django.setup()
from django.test import Client
for _ in range(int(sys.argv[1])):
    answer = Client().post("/sign-in/", {"username": "ada", "password": sys.argv[2]})
    print(answer.status_code, answer.headers.get("Retry-After", ""))
"""


@pytest.mark.django_db(transaction=True)
def test_two_processes_count_as_one(tmp_path: Path) -> None:
    """Three wrong guesses in one process and two in another are five: a third one waits, even
    with the right password, and so does the first."""
    make_user("ada")
    env = environment(
        tmp_path,
        DATABASE_URL=conftest.test_dsn(),
        DJANGO_SETTINGS_MODULE="memoryadmin.settings",
        MEMORYADMIN_LOCAL="1",
        MEMORYADMIN_DEBUG="1",
        MEMORYADMIN_ALLOWED_HOSTS="testserver",
        MEMORYADMIN_HASH_KEY=settings.HASH_KEY,
    )

    def process(n: int, password: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", _GUESSES, str(n), password],
            cwd=ROOT,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split("\n")[:-1]

    assert process(3, "guessed") == ["422 "] * 3
    assert process(2, "guessed") == ["422 "] * 2
    status, retry_after = process(1, "a long enough one")[0].split(" ")
    assert status == "429"
    assert 0 < int(retry_after) <= 31
