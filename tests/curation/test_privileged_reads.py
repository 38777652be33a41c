"""Who looks at what is not everybody's leaves a trace of it, on every such page there is.

The pages come from the URL configuration by the right that they ask for, so that a new one cannot
be forgotten.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from curation.access import RIGHTS, Right
from episodes.enums import Role
from episodes.models import App, AuditEntry, AuditPayload
from episodes.models.audit import IS_A_READ
from episodes.tombstones import subject_hash
from tests.curation.cast import make_member, sign_in
from tests.curation.test_role_matrix import (
    INSTALLATION,
    address,
    address_of_installation,
    arguments_of,
    guarded,
    make_user_entry,
    thing,
)
from tests.factories import make_app, make_episode, make_tombstone

PRIVILEGED = {Right.SEE_RECALLS, Right.SEE_INCIDENTS, Right.SEE_AUDIT, Right.SEE_ERASURES}
# Under a right of many, and still the reading of who was given what.
BY_NAME = {"curation:episode-recalls", "curation:poison-flag", "curation:poison-block"}
# Whatever takes something out of the store as a file.
EXPORTS = {
    "curation:audit-export",
    "curation:erasure-download",
    "curation:incident-csv",
    "curation:incident-html",
    "curation:incident-json",
    "curation:settings-export-file",
}
# What shows nothing of anybody, and why.
FREE = {
    "curation:audit-verification": "numbers, times and places of the chain",
    "curation:installation-verification": "numbers, times and places of the chain",
}


def privileged() -> list[str]:
    by_right = {name for name, right in guarded().items() if right in PRIVILEGED}
    return sorted(by_right | BY_NAME | EXPORTS)


def opened(client: Client, path: str) -> Any:
    """Open an address, or send to it what it takes."""
    answer = client.get(path)
    return client.post(path, {"form": "csv"}) if answer.status_code == 405 else answer


def looks(client: Client, path: str) -> list[str]:
    """Return what was recorded of opening an address."""
    assert opened(client, path).status_code == 200, path
    return list(AuditEntry.objects.filter(IS_A_READ, actor="reader").values_list("verb", flat=True))


@pytest.mark.parametrize("name", privileged())
def test_a_look_is_recorded(app: App, name: str) -> None:
    path = address(name, app, make_episode(app))
    role = Role.CURATOR if guarded()[name] == Right.CURATE else Role.COMPLIANCE
    client = sign_in(make_member(app, role, "reader"))

    assert bool(looks(client, path)) == (name not in FREE)


def test_every_file_is_known(app: App) -> None:
    """By what is answered, not by where it is written."""
    episode = make_episode(app)
    clients = {role: sign_in(make_member(app, role)) for role in Role}

    made: dict[str, object] = {"episode_id": episode.id}
    files = set()
    for name, right in guarded().items():
        role = next(role for role in reversed(Role) if right in RIGHTS[role])
        made |= {one: thing(one, app, episode) for one in arguments_of(name) - made.keys()}
        answer = opened(clients[role], address(name, app, episode, **made))
        if answer.streaming or "Content-Disposition" in answer.headers:
            files.add(name)

    assert files == EXPORTS


@pytest.mark.parametrize(
    "name", sorted(name for name in INSTALLATION if name.startswith("curation:installation-"))
)
def test_a_look_at_the_installation_is_recorded(db: None, name: str) -> None:
    make_user_entry()
    client = sign_in(User.objects.create_superuser("reader"))

    assert bool(looks(client, address_of_installation(name))) == (name not in FREE)


def test_what_is_free_is_there() -> None:
    assert FREE.keys() - set(privileged()) - INSTALLATION == set()
    assert len(privileged()) >= 15


def what_was_recorded() -> AuditPayload:
    [entry] = AuditEntry.objects.filter(IS_A_READ, actor="reader")
    return AuditPayload.objects.get(entry_id=entry.id)


@pytest.mark.parametrize("path", ["recalls/?user_id={}", "recalls/?key={}", "audit/?target={}"])
def test_who_was_erased_is_not_written_down_by_who_looks_for_them(app: App, path: str) -> None:
    make_tombstone(app, "jane-4471")
    client = sign_in(make_member(app, Role.COMPLIANCE, "reader"))

    assert client.get(f"/apps/{app.name}/{path.format('jane-4471')}").status_code == 200

    payload = what_was_recorded()
    assert payload.user_id is None
    assert "jane" not in payload.canonical
    assert subject_hash(app_id=app.id, user_id="jane-4471").hex() in payload.canonical


def test_nor_in_the_audit_of_the_installation(app: App) -> None:
    make_tombstone(app, "jane-4471")
    client = sign_in(User.objects.create_superuser("reader", password="x" * 20))

    assert client.get("/audit/?target=jane-4471").status_code == 200

    assert "jane" not in what_was_recorded().canonical


def test_who_is_there_is_named_where_an_erasure_finds_it(app: App) -> None:
    make_tombstone(make_app(), "jane-4471")  # another app's
    client = sign_in(make_member(app, Role.COMPLIANCE, "reader"))

    assert client.get(f"/apps/{app.name}/recalls/?user_id=jane-4471").status_code == 200

    assert what_was_recorded().user_id == "jane-4471"
