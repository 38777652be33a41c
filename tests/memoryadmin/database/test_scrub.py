"""After a scrub the stopped server's files hold nothing of an erased subject."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.memoryadmin.running import ROOT, environment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the embedded server"),
]

SUBJECT = "canary.subject-44719020"
WORD = "zyzzogeton-4471"
WRITE = """
from django.db import DatabaseError, connection
from django.db.models import F
from episodes.embedding.pipeline import embed_due
from episodes.feedback import record_feedback
from episodes.models import App, Episode
from tests.episodes.asking import ask
from tests.factories import ACTOR, make_app, make_episode
app = make_app("billing-agent")
for number in range(300):
    make_episode(app, user_id="SUBJECT", session_id=f"WORD {number}", tags=("WORD",),
        goal=f"Refund the duplicate charge WORD number {number}, please.")
    if number % 10 == 0:
        make_episode(app, user_id=f"other-{number}", goal="Move the invoice kept-by-others on.")
embed_due(app=app)
record_feedback(app=app, user_id="SUBJECT", session_id="s", rating="negative", actor=ACTOR,
    comment="About WORD.")
ask(app, "Refund WORD", user_id="SUBJECT", session_id="WORD asks")
Episode.objects.filter(user_id="SUBJECT").update(last_activity_at=F("last_activity_at"))
with connection.cursor() as cursor:
    cursor.execute("ANALYZE")
    for statement in ("SELECT 'WORD'::int", "INSERT INTO episodes_app (name) VALUES ('WORD !')"):
        try:
            cursor.execute(statement)
        except DatabaseError:
            pass
""".replace("SUBJECT", SUBJECT).replace("WORD", WORD)

COUNT = """
import json
from collections import Counter
from episodes.models import Erasure
print(json.dumps(sum((Counter(one.counts) for one in Erasure.objects.all()), Counter())))
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="ma-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


def manage(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def holding(folder: Path, word: str) -> set[str]:
    """Return the files that have the word: a stopped server's data, log and write-ahead log."""
    found = subprocess.run(
        ["grep", "-rlaF", "--", word, str(folder)], capture_output=True, text=True, check=False
    )
    return {str(Path(line).relative_to(folder)) for line in found.stdout.splitlines()}


def test_nothing_is_in_the_files_of_the_stopped_server(folder: Path) -> None:
    manage(folder, "migrate")
    manage(folder, "shell", "--no-imports", "-c", WRITE)
    before = holding(folder, WORD)
    assert any("/base/" in name for name in before)
    assert any("/pg_wal/" in name for name in before)
    assert "postgres/log" not in before

    erased: Any = json.loads(manage(folder, "erase_user", "--all-apps", SUBJECT, "--json"))
    assert erased["status"] == "verified"
    # dead rows, statistics and the log still have it
    assert any("/base/" in name for name in holding(folder, WORD))
    assert any("/pg_wal/" in name for name in holding(folder, SUBJECT))

    told: Any = json.loads(manage(folder, "scrub", "--json"))

    assert (told["scrubbed"], told["cleared"]) == (True, 1)
    assert told["locked"].keys() >= {"episodes_episode", "episodes_recall", "pg_statistic"}
    assert told["longest_lock"] < 30
    assert holding(folder, WORD) == set()
    assert holding(folder, SUBJECT) == set()
    assert any("/base/" in name for name in holding(folder, "kept-by-others"))
    assert "no erasure waits" in manage(folder, "scrub")
    assert "the audit is whole" in manage(folder, "verify_audit")


def test_a_command_that_is_killed_goes_on_where_it_was(folder: Path) -> None:
    manage(folder, "migrate")
    manage(folder, "shell", "--no-imports", "-c", WRITE)
    drawn = random.Random(9)  # noqa: S311 - any moments will do

    for _ in range(4):
        process = subprocess.Popen(
            [sys.executable, "manage.py", "erase_user", "--all-apps", SUBJECT],
            cwd=ROOT,
            env=environment(folder),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(drawn.uniform(1.5, 5.0))
        process.kill()
        process.wait()
    # a killed one's lease runs out after two minutes
    told: Any = json.loads(manage(folder, "erase_user", "--all-apps", SUBJECT, "--json"))

    assert (told["status"], told["found"]) == ("verified", {})
    # one that was verified before its kill was followed by another, which found nothing
    counted: Any = json.loads(manage(folder, "shell", "--no-imports", "-c", COUNT))
    for store in ("episodes", "revisions", "outcomes", "servings", "vectors"):
        assert counted[store] == 300
    assert "the audit is whole" in manage(folder, "verify_audit")
    assert any("/base/" in name for name in holding(folder, "kept-by-others"))
