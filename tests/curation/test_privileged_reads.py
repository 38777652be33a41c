"""Who looks at what is not everybody's leaves a trace of it, on every such page there is.

The pages come from the URL configuration by the right that they ask for, so that a new one cannot
be forgotten.
"""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import get_resolver

from curation.access import Right
from episodes.enums import Role
from episodes.models import App, AuditEntry
from episodes.models.audit import IS_A_READ
from tests.curation.cast import make_member, sign_in
from tests.curation.test_role_matrix import (
    INSTALLATION,
    address,
    address_of_installation,
    guarded,
    make_user_entry,
    of_the_console,
)
from tests.factories import make_episode

PRIVILEGED = {Right.SEE_RECALLS, Right.SEE_INCIDENTS, Right.SEE_AUDIT, Right.SEE_ERASURES}
# Under a right of many, and still the reading of who was given what.
BY_NAME = {"curation:episode-recalls", "curation:poison-flag", "curation:poison-block"}
# What shows nothing of anybody, and why.
FREE = {
    "curation:audit-verification": "numbers, times and places of the chain",
    "curation:installation-verification": "numbers, times and places of the chain",
}


def exports() -> set[str]:
    """Whatever takes something out of the store is a view of a module of that name."""
    return {
        f"curation:{pattern.name}"
        for pattern in of_the_console(get_resolver().url_patterns)
        if pattern.callback.__module__.endswith("_exports")
    }


def privileged() -> list[str]:
    by_right = {name for name, right in guarded().items() if right in PRIVILEGED}
    return sorted(by_right | BY_NAME | exports())


def looks(client: Client, path: str) -> list[str]:
    """Open an address, or send to it what it takes; return what was recorded of it."""
    answer = client.get(path)
    if answer.status_code == 405:
        answer = client.post(path, {"form": "csv"})
    assert answer.status_code == 200, path
    return list(AuditEntry.objects.filter(IS_A_READ, actor="reader").values_list("verb", flat=True))


@pytest.mark.parametrize("name", privileged())
def test_a_look_is_recorded(app: App, name: str) -> None:
    path = address(name, app, make_episode(app))
    role = Role.CURATOR if guarded()[name] == Right.CURATE else Role.COMPLIANCE
    client = sign_in(make_member(app, role, "reader"))

    assert bool(looks(client, path)) == (name not in FREE)


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
