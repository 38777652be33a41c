"""Where the demo is loaded and where not, and what is left of a load that is stopped."""

from __future__ import annotations

import hashlib
import stat
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from episodes.models import App, Episode
from memoryadmin.demo import poison
from memoryadmin.demo.access import Access, keep_access, kept_access
from memoryadmin.demo.load import NotEmptyError, load_demo
from memoryadmin.demo.marker import is_demo
from memoryadmin.demo.start import start_demo
from memoryadmin.demo.welcome import welcome
from tests.factories import make_app
from tests.memoryadmin.demo.world import NOW, loaded, rows


def unexpected(said: object) -> None:
    pytest.fail(f"not expected: {said}")


def test_it_is_never_loaded_beside_somebody_elses_app(db: None) -> None:
    app = make_app("ours")

    with pytest.raises(NotEmptyError):
        load_demo(now=NOW, keep=unexpected)

    assert list(App.objects.all()) == [app]
    assert not User.objects.exists()
    assert not is_demo()


def test_it_is_never_loaded_beside_an_account(db: None) -> None:
    User.objects.create_user("ada")

    with pytest.raises(NotEmptyError):
        load_demo(now=NOW, keep=unexpected)

    assert not App.objects.exists()


def test_the_command_says_that_the_database_is_not_empty(db: None) -> None:
    make_app()

    with pytest.raises(CommandError, match="not empty"):
        call_command("demo", stdout=StringIO())


def test_a_start_leaves_another_database_alone(db: None, tmp_path: Path) -> None:
    make_app()

    said = start_demo(folder=tmp_path, address="http://127.0.0.1:8000", say=unexpected)

    assert said == ""
    assert list(tmp_path.iterdir()) == []


def test_a_load_that_is_stopped_leaves_nothing(db: None) -> None:
    class StoppedError(Exception):
        pass

    def stop(percent: int) -> None:
        assert Episode.objects.exists()
        raise StoppedError

    with pytest.raises(StoppedError):
        load_demo(now=NOW, keep=unexpected, tell=stop)

    assert (App.objects.count(), User.objects.count(), Episode.objects.count()) == (0, 0, 0)


def test_access_is_kept_for_its_owner_only(tmp_path: Path) -> None:
    access = Access(password="secret", key="mem_key")

    keep_access(access, folder=tmp_path / "new")

    assert kept_access(folder=tmp_path / "new") == access
    assert stat.S_IMODE((tmp_path / "new" / "demo.json").stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["demo.json"]


@pytest.mark.parametrize("written", [None, "", "{}", '{"password": 1, "other": 2}', "[]"])
def test_a_lost_or_broken_file_of_access_is_none(tmp_path: Path, written: str | None) -> None:
    if written is not None:
        (tmp_path / "demo.json").write_text(written)

    assert kept_access(folder=tmp_path) is None
    assert "changepassword" in welcome(None, address="http://127.0.0.1:8000")


@pytest.mark.slow
def test_two_loads_are_the_same(db: None) -> None:
    assert digest() == digest()


@pytest.mark.slow
@pytest.mark.parametrize("hours", [24, 51, 90])
def test_the_stories_hold_on_any_day_at_any_hour(db: None, hours: int) -> None:
    now = NOW + timedelta(hours=hours)

    with loaded(now=now) as demo:
        answer = demo.search(now=now)

        assert [memory["outcome"] for memory in answer["memories"]] == ["success", "failure"]
        assert Episode.objects.count() == 345
        copied = Episode.objects.filter(user_id=poison.SUBJECT).exclude(session_id=poison.BEFORE)
        assert copied.count() == 9
        for head in copied:
            assert "set_refund_override" in demo.served(str(head.session_id)).tools


# What is random or follows from it: ids, keys, hashes of keys.
_CONTENT = (
    "SELECT a.name, e.user_id, e.session_id, e.outcome, e.outcome_source, e.received_at,"
    " e.completed_at, e.review_state, e.recall_state, r.revision, r.goal, r.steps, r.lesson,"
    " r.recorded_outcome FROM episodes_episode e JOIN episodes_app a ON a.id = e.app_id"
    " JOIN episodes_episoderevision r ON r.app_id = e.app_id AND r.episode_id = e.id"
    " ORDER BY a.name, e.session_id, r.revision",
    "SELECT a.name, r.session_id, r.query, r.recalled_at, r.n_hits, r.candidates"
    " FROM episodes_recall r JOIN episodes_app a ON a.id = r.app_id"
    " ORDER BY a.name, r.recalled_at, r.session_id",
    "SELECT h.recalled_at, h.rank, e.session_id, h.score FROM episodes_recallhit h"
    " JOIN episodes_episode e ON e.id = h.episode_id ORDER BY h.recalled_at, e.session_id, h.rank",
    "SELECT e.session_id, o.at, o.outcome, o.source, o.reason, o.stated_by"
    " FROM episodes_outcomeentry o JOIN episodes_episode e ON e.id = o.episode_id"
    " WHERE o.key_prefix = '' ORDER BY o.at, e.session_id",
    "SELECT session_id, rating, comment, at FROM episodes_feedback ORDER BY at, session_id",
)


def digest() -> str:
    with loaded():
        content: list[Any] = [rows(statement) for statement in _CONTENT]
    return hashlib.sha256(repr(content).encode()).hexdigest()
