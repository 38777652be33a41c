from __future__ import annotations

import json
from io import StringIO
from itertools import combinations

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from episodes.embedding import get_embedder
from episodes.embedding.pipeline import embed_due
from episodes.models import App, AuditEntry, VectorGeneration
from tests.episodes.embedding.waiting import make_app, write_revision

pytestmark = pytest.mark.django_db

TASKS = ("refund a payment", "reset a password", "book a flight", "move a meeting", "sell a share")
GOALS = [(task, f"{task} for customer {n} of branch {n * 7}") for task in TASKS for n in range(10)]


@pytest.fixture
def app() -> App:
    made = make_app()
    for task, goal in GOALS:
        write_revision(made, goal, procedure_key=f"{TASKS.index(task):064d}")
    embed_due()
    return made


def calibrate(app: App, *options: str) -> str:
    out = StringIO()
    call_command("calibrate", "--app", app.name, *options, stdout=out)
    return out.getvalue()


def test_it_proposes_percentiles_of_pairs_with_different_procedures(app: App) -> None:
    vectors = dict(zip(GOALS, get_embedder().embed([goal for _, goal in GOALS]), strict=True))
    cosines = {
        pair: float(np.dot(vectors[pair[0]] or [], vectors[pair[1]] or []))
        for pair in combinations(GOALS, 2)
    }
    unrelated = [value for (one, other), value in cosines.items() if one[0] != other[0]]

    measured = json.loads(calibrate(app, "--json"))

    assert (measured["app"], measured["episodes"], measured["pairs"]) == (app.name, 50, 1000)
    assert measured["unrelated"]["95.0"] == pytest.approx(np.percentile(unrelated, 95), abs=2e-3)
    assert measured["proposed"] == {
        "minimum": np.ceil(np.percentile(unrelated, 95) * 20) / 20,
        "failure_threshold": np.ceil(np.percentile(unrelated, 99.5) * 20) / 20,
    }
    assert measured["current"] == {"minimum": 0.45, "failure_threshold": 0.8}
    assert measured["related"]["50.0"] > measured["unrelated"]["95.0"]


def test_it_prints_a_table_and_writes_nothing(app: App) -> None:
    before = list(VectorGeneration.objects.values()), AuditEntry.objects.count()

    lines = calibrate(app).splitlines()

    assert lines[0] == (
        f"{app.name}: 1000 pairs of different procedures among the newest 50 episodes, "
        "local:wordllama-l2_supercat-256:256"
    )
    assert lines[3].split()[::2] == ["minimum", "0.45"]
    assert (list(VectorGeneration.objects.values()), AuditEntry.objects.count()) == before


def test_too_few_pairs_are_refused() -> None:
    app = make_app()
    write_revision(app, "refund a payment")
    embed_due()
    with pytest.raises(CommandError, match=f"{app.name} has 0 pairs"):
        calibrate(app)


def test_an_unknown_app_is_refused() -> None:
    with pytest.raises(CommandError, match="there is no app nobody"):
        call_command("calibrate", "--app", "nobody")
