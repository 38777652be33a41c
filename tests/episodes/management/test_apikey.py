from __future__ import annotations

import json
from datetime import UTC, datetime
from io import StringIO
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from episodes.keys import authenticate
from episodes.models import ApiKey, App, AuditEntry
from episodes.subject_tokens import signing_secret
from memoryadmin.lib import clock
from tests.factories import make_app

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def apikey(*arguments: str) -> str:
    out = StringIO()
    call_command("apikey", *arguments, stdout=out)
    return out.getvalue()


def test_only_the_key_is_printed(db: None) -> None:
    make_app("billing-agent")

    printed = apikey("--app", "billing-agent", "--scopes", "search, ingest")

    caller = authenticate(printed.removesuffix("\n"))
    assert caller is not None
    assert (caller.app_name, sorted(caller.scopes)) == ("billing-agent", ["ingest", "search"])


def test_app_is_made_when_asked(db: None) -> None:
    for _ in range(2):
        apikey("--app", "billing-agent", "--create-app", "--scopes", "search")

    assert App.objects.get().name == "billing-agent"
    assert ApiKey.objects.count() == 2
    assert AuditEntry.objects.filter(verb="key.issued", actor="manage.py apikey").count() == 2


def test_options_are_the_keys(db: None) -> None:
    options = ["--name", "nightly", "--days", "30", "--limit", "5", "--subject-token", "--json"]

    with clock.at(NOON):
        told = json.loads(apikey("--app", "a", "--create-app", "--scopes", "search", *options))

    key = ApiKey.objects.get()
    assert told == {
        "key": told["key"],
        "id": str(key.id),
        "prefix": key.prefix,
        "scopes": ["search"],
        "subject_secret": signing_secret(UUID(told["id"])),
    }
    assert told["key"].startswith(f"mem_{key.prefix}_")
    assert (key.name, key.limit_per_minute, key.demands_subject_token) == ("nightly", 5, True)
    assert key.expires_at == datetime(2026, 3, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--app", "no-such-app", "--scopes", "search"], "there is no app no-such-app"),
        (["--app", "a b", "--create-app", "--scopes", "search"], "no name for an app"),
        (["--app", "a", "--create-app", "--scopes", "admin"], "--scopes: admin"),
        (["--app", "a", "--create-app", "--scopes", " , "], "--scopes: no scope"),
        (["--app", "a", "--create-app", "--scopes", "search", "--days", "0"], "--days"),
        (["--app", "a", "--create-app", "--scopes", "search", "--limit", "-1"], "--limit"),
    ],
)
def test_bad_arguments_are_refused(db: None, arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        apikey(*arguments)

    assert (ApiKey.objects.count(), App.objects.count()) == (0, 0)
