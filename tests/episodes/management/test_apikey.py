from __future__ import annotations

import json
from datetime import UTC, datetime
from io import StringIO
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from episodes.keys.lookup import authenticate
from episodes.keys.subject_tokens import signing_secret
from episodes.models import ApiKey, App, AuditEntry, AuditPayload
from memoryadmin.lib import clock
from tests.factories import make_app, make_key

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


def test_rotating_prints_the_key_that_takes_its_place(db: None) -> None:
    with clock.at(NOON):
        old, _ = make_key(make_app("a"), "search", demands_subject_token=True)
        told = json.loads(
            apikey("--rotate", f"mem_{old.prefix}", "--overlap", "1.5", "--reason", "due", "--json")
        )

    new = ApiKey.objects.get(predecessor=old)
    old.refresh_from_db()
    assert told == {
        "key": told["key"],
        "id": str(new.id),
        "prefix": new.prefix,
        "scopes": ["search"],
        "replaces": old.prefix,
        "subject_secret": signing_secret(new.id),
    }
    assert old.expires_at == datetime(2026, 3, 1, 13, 30, tzinfo=UTC)
    assert AuditEntry.objects.get(verb="key.rotated").actor == "manage.py apikey"


def test_only_the_new_key_is_printed(db: None) -> None:
    old, _ = make_key(make_app("a"))

    printed = apikey("--rotate", old.prefix)

    caller = authenticate(printed.removesuffix("\n"))
    assert caller is not None
    assert caller.prefix != old.prefix


def test_revoking_ends_it(db: None) -> None:
    key, raw = make_key(make_app("a"))

    apikey("--revoke", key.prefix, "--reason", "leaked")

    assert authenticate(raw) is None
    entry = AuditEntry.objects.get(verb="key.revoked")
    assert AuditPayload.objects.get(entry_id=entry.id).payload["reason"] == "leaked"


def test_a_limit_is_set_and_taken_off(db: None) -> None:
    key, _ = make_key(make_app("a"))
    limits = []
    for options in (["--limit", "5"], []):
        apikey("--set-limit", key.prefix, *options)
        key.refresh_from_db()
        limits.append(key.limit_per_minute)

    assert limits == [5, None]
    assert AuditEntry.objects.filter(verb="key.limited").count() == 2


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (["--rotate", "nobody"], "no key with this prefix"),
        (["--rotate", "rotated"], "has taken its place: rotate that"),
        (["--rotate", "living", "--overlap", "-1"], "--overlap: from 0 to 720"),
        (["--rotate", "living", "--overlap", "721"], "--overlap: from 0 to 720"),
        (["--rotate", "living", "--overlap", "nan"], "--overlap: from 0 to 720"),
        (["--rotate", "living", "--overlap", "1e300"], "--overlap: from 0 to 720"),
        (["--rotate", "revoked"], "this key has ended"),
        (["--revoke", "revoked"], "was revoked before"),
        (["--set-limit", "revoked", "--limit", "1"], "this key has ended"),
    ],
)
def test_what_cannot_be_done_is_said(db: None, act: list[str], message: str) -> None:
    app = make_app("a")
    keys = {name: make_key(app)[0] for name in ("living", "rotated", "revoked")}
    apikey("--rotate", keys["rotated"].prefix)
    apikey("--revoke", keys["revoked"].prefix)
    named = [keys[word].prefix if word in keys else word for word in act]

    with pytest.raises(CommandError, match=message):
        apikey(*named)

    assert ApiKey.objects.count() == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scopes", "search"], "--app is required"),
        (["--app", "a"], "--scopes is required"),
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
