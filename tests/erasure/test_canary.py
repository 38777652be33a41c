"""One subject with canaries in every column; after `verified` there is none, and nothing else
has changed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from episodes.audit.verify import verify_audit
from episodes.enums import ErasureStatus
from episodes.erasure.request import preview_erasure, request_erasure
from episodes.erasure.run import run_erasures
from episodes.models import App, Episode, Erasure
from memoryadmin.lib import erasable, ledger
from tests.curation.promotion.scene import make_peers
from tests.episodes.asking import ask
from tests.erasure.scene import (
    CANARY,
    SUBJECT,
    canaries_left,
    finish,
    make_everything,
    others,
    plant,
    tables_of_subjects,
)
from tests.factories import ACTOR, make_app, make_episode

pytestmark = pytest.mark.django_db


@pytest.fixture
def app() -> App:
    return make_app("billing-agent")


@pytest.fixture
def planted(app: App) -> set[str]:
    make_peers(app, 3)
    make_episode(app, user_id=f"{SUBJECT}.au", session_id="neighbour", embedded=True)
    other_app = make_app("other-agent")
    make_episode(other_app, user_id=SUBJECT, session_id="same id elsewhere", embedded=True)
    return plant(app, SUBJECT, make_everything(app, other_app))


def test_the_canary_is_in_every_column_that_a_store_empties(app: App, planted: set[str]) -> None:
    tables = {table.name for table in tables_of_subjects()}
    wanted = {
        f"{table}.{column}"
        for table, columns in erasable.erased().items()
        for column in columns
        if table in tables and column not in ("user_id", "vector", "wording_hash")
    }

    assert wanted - planted == set()
    # they hold ids and numbers beside the subject's
    assert tables - {table.partition(".")[0] for table in planted} == {
        "episodes_pendingembedding",
        "episodes_serving",
        "curation_consolidationsource",
    }


def test_nothing_of_the_subject_is_left_and_everything_else_is(app: App, planted: set[str]) -> None:
    candidates = ask(app, user_id="peer-0", scope="user")["candidates"]
    before = others(app, SUBJECT)
    preview = preview_erasure(app=app, user_id=SUBJECT)

    done = finish(request_erasure(app=app, user_id=SUBJECT, actor=ACTOR, reason="Asked for it."))

    assert (done.status, done.found, done.rounds, done.last_error) == ("verified", {}, 0, "")
    assert all(preview.values()), preview
    assert done.counts == dict(preview) | {"audit_texts": done.counts["audit_texts"]}
    assert canaries_left() == []
    assert others(app, SUBJECT) == before
    assert Episode.objects.filter(user_id=SUBJECT).values_list("app__name", flat=True).get() == (
        "other-agent"
    )
    assert ask(app, user_id="peer-0", scope="user")["candidates"] == candidates
    assert ask(app, user_id=SUBJECT)["memories"] == []
    verdict = verify_audit()
    assert (verdict.broken, verdict.erased) == (None, done.counts["audit_texts"] + 1)


def test_the_id_itself_is_nowhere_and_no_file_of_ours_has_it(
    app: App, planted: set[str], tmp_path: Path
) -> None:
    finish(request_erasure(app=app, user_id=SUBJECT, actor=ACTOR))

    kept = {"episodes_episode: user_id", "episodes_episoderevision: user_id"}
    elsewhere = {one for one in canaries_left(SUBJECT) if not one.endswith(": user_id")}
    assert elsewhere == set()
    assert kept <= set(canaries_left(SUBJECT))  # the other app's subject, and the neighbour
    files = [*tmp_path.rglob("*"), *Path(settings.DATA_DIR).glob("*")]
    texts = {path.name: path.read_bytes() for path in files if path.is_file()}
    assert ledger.FIRST.encode() in texts["ledger.jsonl"]
    for text in texts.values():
        assert SUBJECT.encode() not in text
        assert CANARY.encode() not in text


class Killed(BaseException):
    """Nobody catches it, like a kill."""


@contextmanager
def killed_at(statement: int) -> Iterator[None]:
    seen = 0

    def count(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal seen
        seen += 1
        if seen == statement:
            raise Killed
        return execute(sql, params, many, context)

    with connection.execute_wrapper(count):
        try:
            yield
        except Killed:
            return


def test_killed_at_25_points_it_ends_the_same(
    app: App, planted: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("episodes.erasure.run.BATCH", 2)
    monkeypatch.setattr("episodes.erasure.run.LEASE", timedelta(0))
    before, preview = others(app, SUBJECT), preview_erasure(app=app, user_id=SUBJECT)
    erasure = request_erasure(app=app, user_id=SUBJECT, actor=ACTOR)
    drawn = random.Random(25)  # noqa: S311 - any points will do

    kills = 0
    while kills < 25 and erasure.status != ErasureStatus.VERIFIED:
        with killed_at(drawn.randint(1, 60)):
            run_erasures(budget=60.0)
        kills += 1
        erasure.refresh_from_db()
    done = finish(erasure)

    assert kills == 25
    assert done.status == "verified"
    assert done.counts == dict(preview) | {"audit_texts": done.counts["audit_texts"]}
    assert canaries_left() == []
    assert others(app, SUBJECT) == before
    verdict = verify_audit()
    assert (verdict.broken, verdict.erased) == (None, done.counts["audit_texts"] + 1)
    assert Erasure.objects.count() == 1
