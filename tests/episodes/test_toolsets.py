from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from episodes.models import App, AuditEntry, Toolset
from episodes.toolset_hash import Tool
from episodes.toolsets import UnknownToolsetError, declare_toolset, retire_toolset
from memoryadmin.lib import clock
from tests.episodes.asking import ask
from tests.factories import ACTOR, GOAL, make_app, write

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TOOLS = [Tool("refund"), Tool("lookup")]


@pytest.fixture
def app(db: None) -> App:
    return make_app()


def verbs(app: App) -> list[str]:
    return list(
        AuditEntry.objects.filter(app=app, target_kind="toolset")
        .order_by("at", "id")
        .values_list("verb", flat=True)
    )


def test_declaring_again_renews_its_use_only(app: App) -> None:
    with clock.at(NOON):
        first, was_news = declare_toolset(app=app, tools=TOOLS, actor=ACTOR)
    with clock.at(NOON + timedelta(days=1)):
        second, is_news = declare_toolset(app=app, tools=TOOLS, actor=ACTOR)

    assert (was_news, is_news, first.id) == (True, False, second.id)
    assert (second.declared_at, second.last_used_at) == (NOON, NOON + timedelta(days=1))
    assert verbs(app) == ["toolset.declared"]


def test_versions_stand_beside_each_other(app: App) -> None:
    for tools in (TOOLS, [Tool("refund")]):
        declare_toolset(app=app, tools=tools, actor=ACTOR)
    declare_toolset(app=app, tools=TOOLS, actor=ACTOR, agent_id="refunds")

    assert Toolset.objects.filter(app=app, retired_at=None).count() == 3


def test_retired_version_comes_back_when_declared(app: App) -> None:
    declared, _ = declare_toolset(app=app, tools=TOOLS, actor=ACTOR)
    retire_toolset(app=app, version=declared.version, actor=ACTOR)

    again, is_news = declare_toolset(app=app, tools=TOOLS, actor=ACTOR)

    assert (again.retired_at, is_news) == (None, True)
    assert again.id != declared.id
    assert verbs(app) == ["toolset.declared", "toolset.retired", "toolset.declared"]


def test_version_that_was_out_of_use_stands_anew(app: App) -> None:
    with clock.at(NOON):
        before, _ = declare_toolset(app=app, tools=TOOLS, actor=ACTOR)
    with clock.at(NOON + timedelta(days=9)):
        again, is_news = declare_toolset(app=app, tools=TOOLS, actor=ACTOR)

    before.refresh_from_db()
    assert before.retired_at == NOON + timedelta(days=7)
    assert (again.retired_at, again.declared_at) == (None, NOON + timedelta(days=9))
    assert is_news


def test_use_keeps_it_current_and_does_not_make_it_so_again(app: App) -> None:
    """A key that may only ingest cannot declare; to name the version is no declaration."""

    def use(day: int) -> str:
        with clock.at(NOON + timedelta(days=day)):
            write(app, session_id=f"s-{day}", toolset_version="v1", may_verify=False)
            return str(ask(app, GOAL)["memories"][0]["toolset"])

    with clock.at(NOON):
        declare_toolset(app=app, tools=TOOLS, actor=ACTOR, version="v1")
        stands = Toolset.objects.get()

    assert [use(day) for day in (5, 11, 19, 20)] == ["current", "current", "unknown", "unknown"]
    stands.refresh_from_db()
    assert (stands.last_used_at, stands.ends_at) == (
        NOON + timedelta(days=11),
        NOON + timedelta(days=18),
    )
    assert not stands.is_retired


def test_retiring_what_went_out_of_use_leaves_its_end(app: App) -> None:
    with clock.at(NOON):
        declare_toolset(app=app, tools=TOOLS, actor=ACTOR, version="v1")
    with clock.at(NOON + timedelta(days=30)):
        [retired] = retire_toolset(app=app, version="v1", actor=ACTOR)

    assert retired.retired_at == NOON + timedelta(days=7)
    assert verbs(app) == ["toolset.declared"]


def test_retiring_twice_changes_nothing(app: App) -> None:
    declared, _ = declare_toolset(app=app, tools=TOOLS, actor=ACTOR)
    [retired] = retire_toolset(app=app, version=declared.version, actor=ACTOR)
    [again] = retire_toolset(app=app, version=declared.version, actor=ACTOR)

    assert again.retired_at == retired.retired_at
    assert verbs(app) == ["toolset.declared", "toolset.retired"]


def test_version_is_retired_for_one_agent_or_for_all(app: App) -> None:
    for agent_id in ("", "refunds", "billing"):
        declare_toolset(app=app, tools=TOOLS, actor=ACTOR, agent_id=agent_id, version="v1")

    one = retire_toolset(app=app, version="v1", actor=ACTOR, agent_id="refunds")
    every = retire_toolset(app=app, version="v1", actor=ACTOR)

    assert [toolset.agent_id for toolset in one] == ["refunds"]
    assert [toolset.agent_id for toolset in every] == ["", "billing", "refunds"]
    assert Toolset.objects.filter(retired_at=None).count() == 0


def test_another_apps_version_is_unknown(app: App) -> None:
    declare_toolset(app=make_app(), tools=TOOLS, actor=ACTOR, version="v1")

    with pytest.raises(UnknownToolsetError):
        retire_toolset(app=app, version="v1", actor=ACTOR)

    assert Toolset.objects.get().retired_at is None


def test_version_spelled_like_a_hash_has_its_kind(app: App) -> None:
    hashed, _ = declare_toolset(app=app, tools=TOOLS, actor=ACTOR)
    named, _ = declare_toolset(app=app, tools=TOOLS, actor=ACTOR, version="2026-03")

    assert (hashed.hash_kind, named.hash_kind) == ("names", "opaque")
