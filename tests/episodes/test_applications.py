"""Changing an app's settings: what holds afterwards, what is recorded, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import override_settings

from episodes.applications import (
    CONSTANTS,
    NothingChangedError,
    SettingsChangedError,
    change_profile,
    change_whitelist,
    create_app,
    whitelist_state,
)
from episodes.ingest.exceptions import InvalidWhitelistError
from episodes.ingest.whitelist import Rule
from episodes.keys.lookup import authenticate
from episodes.models import App, AuditEntry, AuditPayload, EpisodeRevision, RankingProfile
from tests.factories import ACTOR, make_app, make_episode, make_key

pytestmark = pytest.mark.django_db

RULES: dict[str, dict[str, Rule]] = {"*": {"*": "code"}, "refund": {"note": True}}


def constants(app: App, **changed: float | int | None) -> dict[str, Any]:
    app.refresh_from_db()
    return {name: getattr(app.profile, name) for name in CONSTANTS} | changed


def recorded(verb: str) -> dict[str, Any]:
    entry = AuditEntry.objects.get(verb=verb)
    return AuditPayload.objects.get(entry_id=entry.id).payload


def test_a_new_app_takes_the_installations_idle_time() -> None:
    before = make_app()

    with override_settings(IDLE_CLOSE_SECONDS=90):
        app = create_app(name="quick-agent", actor=ACTOR)

    before.refresh_from_db()
    assert (app.idle_seconds, before.idle_seconds) == (90, 3600)


def test_a_changed_whitelist_decides_about_the_next_session() -> None:
    app = make_app()

    app = change_whitelist(app=app, rules=RULES, seen=whitelist_state(app), actor=ACTOR)

    make_episode(
        app,
        session={
            "goal": "Refund the duplicate charge.",
            "steps": [
                {"kind": "call", "tool": "refund", "arguments": {"note": "twice by mistake"}}
            ],
        },
    )
    [call, _] = EpisodeRevision.objects.get().steps
    assert call["arguments"] == {"note": "twice by mistake"}


def test_what_changed_in_the_whitelist_is_recorded_and_nothing_else() -> None:
    app = make_app()

    change_whitelist(app=app, rules=RULES, seen=whitelist_state(app), actor=ACTOR)

    assert recorded("whitelist.changed") == {
        "reason": "",
        "before": {"refund": None},
        "after": {"refund": {"note": True}},
    }


def test_a_whitelist_change_is_based_on_what_was_read() -> None:
    app = make_app()
    seen = whitelist_state(app)
    change_whitelist(app=app, rules=RULES, seen=seen, actor=ACTOR)

    with pytest.raises(SettingsChangedError):
        change_whitelist(app=app, rules={"*": {"*": False}}, seen=seen, actor=ACTOR)

    app.refresh_from_db()
    assert app.argument_whitelist == RULES


def test_rules_of_another_shape_are_refused() -> None:
    app = make_app()

    with pytest.raises(InvalidWhitelistError):
        change_whitelist(
            app=app,
            rules={"refund": {"note": "always"}},
            seen=whitelist_state(app),
            actor=ACTOR,
        )


def test_the_same_rules_are_no_change() -> None:
    app = make_app()

    with pytest.raises(NothingChangedError):
        change_whitelist(
            app=app, rules=app.argument_whitelist, seen=whitelist_state(app), actor=ACTOR
        )


def test_names_that_read_alike_are_told_apart() -> None:
    app = make_app()
    app = change_whitelist(
        app=app, rules={"a.b": {"c": True}}, seen=whitelist_state(app), actor=ACTOR
    )

    app = change_whitelist(
        app=app, rules={"a": {"b.c": True}}, seen=whitelist_state(app), actor=ACTOR
    )

    assert app.argument_whitelist == {"a": {"b.c": True}}


def test_a_new_profile_version_is_used_by_the_next_request() -> None:
    app = make_app()
    key = make_key(app)[1]

    change_profile(app=app, constants=constants(app, partial=0.9), seen=1, actor=ACTOR)

    caller = authenticate(key)
    assert caller is not None
    assert (caller.profile.label, caller.profile.partial) == ("default@2", 0.9)
    assert [p.partial for p in RankingProfile.objects.order_by("version")] == [0.7, 0.9]
    assert recorded("profile.changed") == {
        "reason": "",
        "before": {"profile": "default@1", "partial": 0.7},
        "after": {"profile": "default@2", "partial": 0.9},
    }


def test_a_profile_change_is_based_on_the_version_that_was_read() -> None:
    app = make_app()
    change_profile(app=app, constants=constants(app, partial=0.9), seen=1, actor=ACTOR)

    with pytest.raises(SettingsChangedError):
        change_profile(app=app, constants=constants(app, partial=0.1), seen=1, actor=ACTOR)

    assert RankingProfile.objects.filter(app=app).count() == 2


def test_the_same_constants_are_no_new_version() -> None:
    app = make_app()

    with pytest.raises(NothingChangedError):
        change_profile(app=app, constants=constants(app), seen=1, actor=ACTOR)
