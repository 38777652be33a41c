"""The pipeline under a real Celery worker, on the real queue."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.conf import settings

from episodes import tasks
from episodes.embedding.leases import LEASE
from episodes.embedding.pipeline import embed_due
from episodes.enums import IndexState
from episodes.models import Episode, EpisodeVector, PendingEmbedding
from memoryadmin.lib import clock
from tests import conftest
from tests.episodes.embedding.provider import DIMENSIONS, Provider, Reply, good
from tests.episodes.embedding.waiting import make_app, write_revision
from tests.memoryadmin.running import ROOT, environment, eventually

pytestmark = pytest.mark.django_db(transaction=True)


def settings_for(provider: Provider) -> dict[str, str]:
    """Return the environment of a worker on this test's database and provider."""
    return environment(
        settings.DATA_DIR,
        DATABASE_URL=conftest.test_dsn(),
        MEMORYADMIN_DB_ROLE="app",
        MEMORYADMIN_LOCAL="1",
        MEMORYADMIN_EMBEDDER="http",
        MEMORYADMIN_EMBEDDER_URL=provider.url,
        MEMORYADMIN_EMBEDDER_MODEL="some-model",
        MEMORYADMIN_EMBEDDER_DIMENSIONS=str(DIMENSIONS),
    )


@contextmanager
def worker(provider: Provider) -> Iterator[subprocess.Popen[bytes]]:
    command = "celery -A memoryadmin worker -c 1 -n embed@test --without-gossip --without-mingle"
    process = subprocess.Popen(
        [sys.executable, "-m", *command.split(), "--without-heartbeat"],
        cwd=ROOT,
        env=settings_for(provider),
        start_new_session=True,
    )
    try:
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill -9 the worker and its children together, as a lost machine would."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_a_worker_killed_while_the_provider_thinks_only_delays_its_rows(
    provider_in_use: Provider,
) -> None:
    def stuck(texts: list[str]) -> Reply:
        provider_in_use.closing.wait(60)
        return good(texts)

    provider_in_use.answers = [stuck]
    app = make_app()
    for goal in ("first goal", "second goal"):
        write_revision(app, goal)

    with worker(provider_in_use) as process:
        tasks.embed_due.delay()
        eventually(lambda: len(provider_in_use.requests) == 1)
        kill(process)

    assert list(PendingEmbedding.objects.values_list("attempts", flat=True)) == [1, 1]
    assert EpisodeVector.objects.count() == 0
    assert embed_due() == 0
    with clock.at(clock.now() + LEASE):
        assert embed_due() == 2
    assert set(Episode.objects.values_list("index_state", flat=True)) == {IndexState.READY}
    assert PendingEmbedding.objects.count() == 0


def test_a_worker_embeds_as_the_apps_role_once_the_provider_recovers(
    provider_in_use: Provider,
) -> None:
    provider_in_use.answers = [lambda texts: Reply(status=500)] * 3
    write_revision(make_app(), "some goal")

    with worker(provider_in_use):
        tasks.embed_due.delay()
        eventually(lambda: PendingEmbedding.objects.get().last_error == "status_500")
        # what beat does every five seconds
        eventually(lambda: tasks.embed_due.delay() and not PendingEmbedding.objects.exists())

    assert EpisodeVector.objects.count() == 1
    assert Episode.objects.get().index_state == IndexState.READY
