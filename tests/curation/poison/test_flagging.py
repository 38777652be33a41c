"""Flagging, the closure, and lifting: each its own change."""

from __future__ import annotations

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from curation.models import Containment, Flag, FlagReason, FoundIn
from curation.poison.flagging import (
    AlreadyLiftedError,
    Choice,
    Found,
    NothingToBlockError,
    NotReachedError,
    ReachChangedError,
    block_closure,
    flag_episode,
    lift_closure,
    lift_flag,
    read_closure,
)
from curation.saying import NothingKeptError
from episodes import lifecycle
from episodes.exceptions import SubjectErasedError
from episodes.models import App, AuditEntry, AuditPayload, Block, Episode
from memoryadmin.lib import ids
from tests.episodes.asking import ask, served
from tests.episodes.recall_log import spread
from tests.factories import ACTOR, make_episode, make_tombstone

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(app: App) -> Episode:
    return make_episode(app, session_id="root")


def flag(episode: Episode, **members: object) -> Flag:
    told = {"reason": FlagReason.INJECTION, "note": "The note gives orders.", "actor": ACTOR}
    return flag_episode(**{"episode": episode, **told, **members})  # type: ignore[arg-type]


def block(found: Flag, choice: Choice | None = None, **members: str) -> Containment:
    told = {"seen": read_closure(flag=found).digest, "reason": "It copied the order."}
    return block_closure(flag=found, choice=choice or Choice(), actor=ACTOR, **(told | members))


def states(*episodes: Episode) -> list[str]:
    found = Episode.objects.in_bulk([episode.id for episode in episodes])
    return [found[episode.id].recall_state for episode in episodes]


def test_a_flag_takes_the_episode_out_of_recall(app: App) -> None:
    episode = make_episode(app, embedded=True)
    other = make_episode(app, embedded=True, tools=("notify",))

    found = flag(episode, found=Found(FoundIn.RECALL, ids.new_id()))

    assert (found.episode_id, found.user_id, found.revision) == (episode.id, "user-1", 1)
    assert (found.reason, found.note, found.found_in) == (
        "injection",
        "The note gives orders.",
        "recall",
    )
    [row] = Block.objects.filter(app=app)
    assert (row.change_id, row.kind, row.reason) == (found.id, "quarantine", "injection")
    assert served(ask(app)) == [other.id]


def test_a_flag_and_its_lift_are_in_the_audit(app: App, root: Episode) -> None:
    found = flag(root)
    lift_flag(flag=found, reason="Read it again.", actor=ACTOR)

    rows = AuditEntry.objects.filter(target_kind="flag", target_id=found.id).order_by("id")
    assert [row.verb for row in rows] == ["flag.raised", "flag.lifted"]
    payloads = [AuditPayload.objects.get(entry_id=row.id) for row in rows]
    assert {payload.user_id for payload in payloads} == {"user-1"}
    assert [payload.payload["reason"] for payload in payloads] == [
        "The note gives orders.",
        "Read it again.",
    ]
    assert list(
        AuditEntry.objects.filter(target_id=root.id).order_by("id").values_list("verb", flat=True)
    ) == ["episode.created", "episode.blocked", "episode.lifted"]


def test_the_same_flag_sent_twice_is_one(root: Episode) -> None:
    assert flag(root).id == flag(root).id
    assert flag(root, note="Another thing, too.").id != flag(root).id
    assert Flag.objects.count() == 2


def test_flags_and_holds_that_overlap_lift_only_their_own(app: App, root: Episode) -> None:
    lifecycle.block_episode(episode=root, kind="held", actor=ACTOR)
    first, second = flag(root), flag(root, reason=FlagReason.MISLABELLED)

    lift_flag(flag=first, reason="No order after all.", actor=ACTOR)
    assert states(root) == ["blocked"]
    lift_flag(flag=second, reason="The label is right.", actor=ACTOR)
    assert states(root) == ["blocked"]

    assert [row.kind for row in Block.objects.filter(app=app, closed_at__isnull=True)] == ["held"]


def test_a_flag_is_lifted_once(root: Episode) -> None:
    found = flag(root)
    lift_flag(flag=found, reason="Read it again.", actor=ACTOR)

    with pytest.raises(AlreadyLiftedError), transaction.atomic():
        lift_flag(flag=found, reason="Me, too.", actor=ACTOR)

    found.refresh_from_db()
    assert (found.lift_reason, found.lifted_by) == ("Read it again.", "tests")


def test_words_are_needed_and_masked(root: Episode) -> None:
    for note in ("", "   ", "\u200b"):
        with pytest.raises(NothingKeptError):
            flag(root, note=note)
    found = flag(root, note="user-1 wrote from ada@example.org")
    with pytest.raises(NothingKeptError):
        lift_flag(flag=found, reason=" ", actor=ACTOR)
    lift_flag(flag=found, reason="Call +49 30 901820 about user-1", actor=ACTOR)

    assert found.note == "<SUBJECT> wrote from <EMAIL>"
    assert found.lift_reason == "Call <PHONE> about <SUBJECT>"


def test_nothing_is_written_about_an_erased_subject(app: App, root: Episode) -> None:
    found = flag(root)
    make_tombstone(app, "user-1")

    with pytest.raises(SubjectErasedError):
        flag(root, note="Late.")
    with pytest.raises(SubjectErasedError):
        lift_flag(flag=found, reason="Late.", actor=ACTOR)
    with pytest.raises(SubjectErasedError):
        block(found)


def test_another_apps_episode_is_not_flagged(app: App, root: Episode) -> None:
    with pytest.raises(Episode.DoesNotExist):
        flag(Episode(id=ids.new_id(), app=app))
    assert Flag.objects.count() == 0


def test_the_closure_is_blocked_and_lifted_by_its_own_id(app: App, root: Episode) -> None:
    first = spread(app, [root], session_id="one")
    second = spread(app, [first], session_id="two")
    bystander = make_episode(app)
    found = flag(root)

    closure = read_closure(flag=found)
    assert [node.episode_id for node in closure.affected] == [first.id, second.id]
    contained = block(found)

    assert states(root, first, second, bystander) == ["blocked"] * 3 + ["recallable"]
    assert (contained.extent, contained.n_reached, contained.n_blocked) == ("all", 2, 2)
    assert set(
        Block.objects.filter(app=app, change_id=contained.id).values_list("episode_id", flat=True)
    ) == {first.id, second.id}

    lift_closure(containment=contained, reason="Only the first was wrong.", actor=ACTOR)
    assert states(root, first, second) == ["blocked", "recallable", "recallable"]
    lift_flag(flag=found, reason="And that was a mistake.", actor=ACTOR)
    assert states(root) == ["recallable"]


def test_lifting_the_flag_leaves_its_closure(app: App, root: Episode) -> None:
    first = spread(app, [root], session_id="one")
    found = flag(root)
    contained = block(found)

    lift_flag(flag=found, reason="It was the copy that broke it.", actor=ACTOR)

    assert states(root, first) == ["recallable", "blocked"]
    lift_closure(containment=contained, reason="Done.", actor=ACTOR)
    assert states(first) == ["recallable"]


def test_a_part_can_be_blocked_and_the_rest_later(app: App, root: Episode) -> None:
    first = spread(app, [root], session_id="one")
    second = spread(app, [root], session_id="two")
    third = spread(app, [second], session_id="three")
    found = flag(root)

    part = block(found, Choice(episode_ids=frozenset({first.id})))
    assert states(first, second, third) == ["blocked", "recallable", "recallable"]
    near = block(found, Choice(depth=1))
    rest = block(found)

    assert states(first, second, third) == ["blocked"] * 3
    assert [(one.extent, one.depth, one.n_blocked) for one in (part, near, rest)] == [
        ("part", None, 1),
        ("depth", 1, 1),
        ("all", None, 1),
    ]
    lift_closure(containment=near, reason="Those were fine.", actor=ACTOR)
    assert states(first, second, third) == ["blocked", "recallable", "blocked"]


def test_what_others_block_is_blocked_by_the_closure_too(app: App, root: Episode) -> None:
    first = spread(app, [root], session_id="one")
    other = flag(first, reason=FlagReason.MISLABELLED)
    block(flag(root))

    lift_flag(flag=other, reason="The label is right.", actor=ACTOR)

    assert states(first) == ["blocked"]


def test_a_reach_that_grew_is_looked_at_again(app: App, root: Episode) -> None:
    spread(app, [root], session_id="one")
    found = flag(root)
    seen = read_closure(flag=found).digest
    grown = spread(app, [root], session_id="two")

    with pytest.raises(ReachChangedError) as told:
        block(found, seen=seen)

    assert grown.id in {node.episode_id for node in told.value.closure.affected}
    assert (Containment.objects.count(), states(grown)) == (0, ["recallable"])
    assert block(found).n_blocked == 2


def test_nothing_is_blocked_of_what_was_not_reached(app: App, root: Episode) -> None:
    spread(app, [root], session_id="one")
    bystander = make_episode(app)
    found = flag(root)

    with pytest.raises(NotReachedError):
        block(found, Choice(episode_ids=frozenset({bystander.id})))
    with pytest.raises(NotReachedError):
        block(found, Choice(episode_ids=frozenset({root.id})))
    with pytest.raises(NothingToBlockError):
        block(found, Choice(episode_ids=frozenset()))
    with pytest.raises(NothingKeptError):
        block(found, reason="")
    block(found)
    with pytest.raises(NothingToBlockError):
        block(found)
    assert states(bystander) == ["recallable"]


def test_the_closure_of_a_lifted_flag_is_not_blocked(app: App, root: Episode) -> None:
    spread(app, [root], session_id="one")
    found = flag(root)
    lift_flag(flag=found, reason="Read it again.", actor=ACTOR)

    with pytest.raises(AlreadyLiftedError):
        block(found)


def test_a_closure_costs_the_same_statements_whatever_its_size(app: App) -> None:
    def statements(n: int) -> tuple[int, int]:
        root = make_episode(app)
        for _ in range(n):
            spread(app, [root], session_id=f"s-{ids.new_id()}")
        found = flag(root)
        seen = read_closure(flag=found).digest
        with CaptureQueriesContext(connection) as blocking:
            contained = block(found, seen=seen)
        with CaptureQueriesContext(connection) as lifting:
            lift_closure(containment=contained, reason="Done.", actor=ACTOR)
        return len(blocking), len(lifting)

    assert statements(1) == statements(12)
