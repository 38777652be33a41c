from __future__ import annotations

import json
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from episodes.models import App, AuditEntry
from tests.episodes.export.lines import export_of, moved
from tests.factories import make_app, make_episode


@pytest.fixture
def app(db: None) -> App:
    return make_app()


def export(app: App, *options: str) -> list[dict[str, Any]]:
    out = TextIOWrapper(BytesIO())
    call_command("export", "--app", app.name, *options, stdout=out, stderr=StringIO())
    return [json.loads(line) for line in out.buffer.getvalue().splitlines()]


def test_a_file_of_it_is_taken_back_by_ingest(app: App, tmp_path: Path) -> None:
    for number in range(3):
        make_episode(app, session_id=f"s-{number}", agent_id="élodie")
    other, file, out = make_app(), tmp_path / "out.ndjson", StringIO()
    lines = export(app)
    file.write_text("\n".join(json.dumps(line) for line in lines))

    call_command(
        *("ingest", "--app", other.name, "--format", "episode", "--verify", "--json", str(file)),
        stdout=out,
    )

    assert json.loads(out.getvalue())["created"] == 3
    assert [moved(line) for line in export_of(other)] == [moved(line) for line in lines]
    assert [moved(line) for line in lines] == [moved(line) for line in export_of(app)]


def test_it_narrows_and_goes_on(app: App) -> None:
    for user_id in ("user-1", "user-2"):
        make_episode(app, user_id=user_id, session_id=user_id, tags=("a", "b"), outcome="failure")

    lines = export(app)

    assert [line["user_id"] for line in export(app, "--user", "user-2")] == ["user-2"]
    assert export(app, "--tag", "a", "--tag", "b", "--outcome", "failure", "--state", "completed")
    assert export(app, "--tag", "c") == []
    assert export(app, "--after", lines[0]["stored"]["cursor"]) == lines[1:]


def test_it_is_recorded(app: App) -> None:
    export(app)

    entries = AuditEntry.objects.filter(target_kind="export").order_by("at", "number")
    assert [(entry.actor, entry.verb) for entry in entries] == [
        ("manage.py export", "episodes.exported"),
        ("manage.py export", "export_end.counted"),
    ]


def test_nobody_reads_on(app: App) -> None:
    class Closed(BytesIO):
        def write(self, _: Any) -> int:
            raise BrokenPipeError

    class Text(StringIO):
        buffer = Closed()

    make_episode(app)

    with pytest.raises(CommandError, match="nobody read on"):
        call_command("export", "--app", app.name, stdout=Text(), stderr=StringIO())

    verbs = AuditEntry.objects.filter(target_kind="export").order_by("at", "number")
    assert [entry.verb for entry in verbs] == ["episodes.exported", "export_cut.counted"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--app", "nobody"], "there is no app nobody"),
        (["--since", "2026-01-01"], "since: Must have an offset"),
        (["--after", "x"], "after: No cursor of ours"),
        (["--user", ""], "user_id: This field may not be blank"),
    ],
)
def test_what_it_cannot_do_it_says(app: App, options: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        export(app, *options)
    assert AuditEntry.objects.filter(target_kind="export").count() == 0
