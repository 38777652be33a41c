"""The same function from a shell."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from episodes.erasure.certificate import as_file
from episodes.models import App, Episode, Erasure
from tests.factories import make_app, make_episode

pytestmark = pytest.mark.django_db


@pytest.fixture
def app() -> App:
    return make_app()


def run(*arguments: str) -> list[Any]:
    out = StringIO()
    call_command("erase_user", *arguments, "--json", stdout=out, stderr=StringIO())
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_it_counts_first_and_then_erases(app: App) -> None:
    make_episode(app, user_id="jane")
    make_episode(app, user_id="john")

    [dry] = run("--app", app.name, "jane", "--dry-run")
    assert (dry["status"], dry["counts"]["episodes"]) == ("dry_run", 1)
    assert (Episode.objects.count(), Erasure.objects.count()) == (2, 0)

    [done] = run("--app", app.name, "jane")
    assert (done["status"], done["counts"]["episodes"], done["found"]) == ("verified", 1, {})
    assert done["certificate"]["body"]["total"] == done["total"]
    assert [head.user_id for head in Episode.objects.all()] == ["john"]


def test_all_apps(app: App) -> None:
    other = make_app()
    for one in (app, other):
        make_episode(one, user_id="jane")

    done = run("--all-apps", "jane")

    assert {one["app"]: one["status"] for one in done} == {
        app.name: "verified",
        other.name: "verified",
    }
    assert Episode.objects.count() == 0


def test_text_names_the_stores_and_nobody(app: App) -> None:
    make_episode(app, user_id="jane-4471")
    out = StringIO()

    call_command("erase_user", "--app", app.name, "jane-4471", stdout=out, stderr=StringIO())

    assert f"{app.name}: verified, " in out.getvalue()
    assert "episodes" in out.getvalue()
    assert "jane" not in out.getvalue()


@pytest.mark.parametrize(
    "arguments", [("jane",), ("--app", "no-such-app", "jane"), ("--all-apps", ""), ("--app", "x")]
)
def test_what_cannot_be_meant_is_refused(app: App, arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        run(*arguments)
    assert Erasure.objects.count() == 0


def test_a_certificate_is_checked(app: App, tmp_path: Path) -> None:
    run("--app", app.name, "jane")
    file = tmp_path / "certificate.json"
    file.write_bytes(as_file(Erasure.objects.get()))
    out = StringIO()

    call_command("verify_certificate", str(file), "--json", stdout=out)
    assert json.loads(out.getvalue())["genuine"] is True

    file.write_bytes(file.read_bytes().replace(b'"episodes": 0', b'"episodes": 1'))
    with pytest.raises(CommandError, match="was changed"):
        call_command("verify_certificate", str(file))
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("verify_certificate", str(tmp_path / "none"))
    file.write_bytes(b"{}")
    with pytest.raises(CommandError, match="holds no certificate"):
        call_command("verify_certificate", str(file))
