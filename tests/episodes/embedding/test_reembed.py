from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from threading import Event

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from episodes.audit import SYSTEM
from episodes.embedding.generations import current_generation, embedder_for
from episodes.embedding.pipeline import embed_due
from episodes.embedding.reembed import fill_pending, switch_generation
from episodes.enums import IndexState
from episodes.models import (
    App,
    AuditEntry,
    Episode,
    EpisodeVector,
    PendingEmbedding,
    VectorGeneration,
)
from tests.episodes.embedding.provider import Provider, Reply, good
from tests.episodes.embedding.waiting import make_app, write_revision

pytestmark = pytest.mark.django_db

OLD = "local:wordllama-l2_supercat-256:256"
NEW = "http:some-model:4"


@pytest.fixture
def app(provider_in_use: Provider) -> App:
    """An app whose three episodes were embedded locally before the provider was set."""
    VectorGeneration.objects.create(
        name=OLD,
        embedder="local",
        model="wordllama-l2_supercat-256",
        dimensions=256,
        minimum=0.45,
        failure_threshold=0.8,
    )
    made = make_app()
    App.objects.update(generation=VectorGeneration.objects.get(name=OLD))
    for goal in ("first goal", "second goal", "third goal"):
        write_revision(made, goal)
    assert embed_due() == 3
    assert provider_in_use.requests == []
    return made


def generations_of_vectors() -> list[tuple[str, int]]:
    rows = EpisodeVector.objects.order_by("generation__name", "pk")
    return [(row.generation.name, len(list(row.vector))) for row in rows]


def test_every_served_revision_gets_its_vector_then_search_moves_on(
    app: App, provider_in_use: Provider
) -> None:
    out = StringIO()
    call_command("reembed", stdout=out)

    app.refresh_from_db()
    assert app.generation == VectorGeneration.objects.get(name=NEW)
    assert generations_of_vectors() == [(NEW, 4)] * 3
    assert PendingEmbedding.objects.count() == 0
    assert set(Episode.objects.values_list("index_state", flat=True)) == {IndexState.READY}
    assert list(
        AuditEntry.objects.filter(verb="app.generation_switched").values_list("actor", "actor_kind")
    ) == [("reembed", "command")]
    assert out.getvalue().splitlines()[-1] == f"{app.name} searches {NEW}; 3 embedded"


def test_while_the_provider_is_down_search_goes_on_with_the_old_vectors(
    app: App, provider_in_use: Provider
) -> None:
    provider_in_use.answer = lambda texts: Reply(status=401)
    with pytest.raises(CommandError, match=r"3 revisions still wait .*status_401: 3"):
        call_command("reembed", "--patience", "0", stdout=StringIO())

    app.refresh_from_db()
    assert app.generation is not None
    assert app.generation.name == OLD
    assert embedder_for(OLD) is not None
    assert generations_of_vectors() == [(OLD, 256)] * 3
    assert set(Episode.objects.values_list("index_state", flat=True)) == {IndexState.READY}


def test_a_second_run_goes_on_where_the_first_stopped(app: App, provider_in_use: Provider) -> None:
    fill_pending(app=app, generation=current_generation())
    embed_due(generation=current_generation(), limit=1)
    assert generations_of_vectors() == [(NEW, 4), *[(OLD, 256)] * 3]

    call_command("reembed", "--app", app.name, stdout=StringIO())

    assert generations_of_vectors() == [(NEW, 4)] * 3
    assert sorted(text for texts in provider_in_use.texts for text in texts) == [
        "first goal",
        "second goal",
        "third goal",
    ]


def test_a_lost_vector_is_made_again_within_the_generation(
    app: App, provider_in_use: Provider
) -> None:
    call_command("reembed", stdout=StringIO())
    EpisodeVector.objects.filter(episode__session_id="second goal").delete()

    call_command("reembed", stdout=StringIO())

    assert generations_of_vectors() == [(NEW, 4)] * 3
    assert provider_in_use.texts[-1] == ["second goal"]


@pytest.mark.django_db(transaction=True)
def test_what_is_written_meanwhile_is_not_left_behind(app: App, provider_in_use: Provider) -> None:
    def write_then_answer(texts: list[str]) -> Reply:
        write_revision(app, "a newer second goal", session="second goal")
        write_revision(app, "fourth goal")
        connection.close()
        return good(texts)

    provider_in_use.answers = [write_then_answer]

    call_command("reembed", stdout=StringIO())
    embed_due()

    assert generations_of_vectors() == [(NEW, 4)] * 4
    assert set(Episode.objects.values_list("session_id", "revision", "index_state")) == {
        ("first goal", 1, "ready"),
        ("second goal", 2, "ready"),
        ("third goal", 1, "ready"),
        ("fourth goal", 1, "ready"),
    }
    assert PendingEmbedding.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_a_switch_waits_for_a_write_that_has_read_the_old_pointer(
    app: App, provider_in_use: Provider
) -> None:
    generation = current_generation()
    fill_pending(app=app, generation=generation)
    assert embed_due(generation=generation) == 3
    queued, may_commit = Event(), Event()

    def write() -> None:
        with transaction.atomic():
            write_revision(app, "fourth goal")
            queued.set()
            may_commit.wait(10)
        connection.close()

    def switch() -> bool:
        try:
            return switch_generation(app=app, generation=generation, actor=SYSTEM)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        writing = pool.submit(write)
        assert queued.wait(10)
        switching = pool.submit(switch)
        with pytest.raises(TimeoutError):
            switching.result(timeout=0.5)
        may_commit.set()
        writing.result(timeout=10)
        assert switching.result(timeout=10) is False

    lists = PendingEmbedding.objects.filter(episode__session_id="fourth goal")
    assert set(lists.values_list("generation__name", flat=True)) == {OLD, NEW}
    assert embed_due(generation=generation) == 1
    assert switch_generation(app=app, generation=generation, actor=SYSTEM) is True


def test_an_unknown_app_is_refused(app: App) -> None:
    with pytest.raises(CommandError, match="there is no app nobody"):
        call_command("reembed", "--app", "nobody")
