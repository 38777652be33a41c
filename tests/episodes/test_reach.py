from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from episodes.erasure.request import request_erasure
from episodes.lifecycle import block_episode
from episodes.models import App, Episode
from episodes.reach import Reach, read_reach
from memoryadmin.lib import clock, ids
from tests.episodes.asking import ask, served
from tests.episodes.recall_log import log_recall, spread
from tests.episodes.sharing import share
from tests.factories import ACTOR, make_app, make_episode, make_session, make_steps, write

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


@pytest.fixture
def app() -> App:
    return make_app()


@pytest.fixture
def root(app: App) -> Episode:
    return make_episode(app, session_id="root")


def reach_of(*roots: Episode, max_depth: int = 5) -> Reach:
    return read_reach(
        app_id=roots[0].app_id, roots=[root.id for root in roots], max_depth=max_depth
    )


def depths(reach: Reach) -> dict[UUID, int]:
    return {node.episode_id: node.depth for node in reach.nodes}


def sessions(reach: Reach) -> Sequence[tuple[str | None, int, int]]:
    return [(one.session_id, one.depth, one.recalls) for one in reach.sessions]


def test_it_goes_from_session_to_session(app: App, root: Episode) -> None:
    first = spread(app, [root], session_id="one")
    second = spread(app, [first], session_id="two", outcome="failure")
    make_episode(app, session_id="bystander")

    reach = reach_of(root)

    assert depths(reach) == {root.id: 0, first.id: 1, second.id: 2}
    assert sessions(reach) == [("one", 1, 1), ("two", 2, 1)]
    assert [node.via for node in reach.nodes] == [(), (root.id,), (first.id,)]
    assert [[e.outcome for e in one.ended] for one in reach.sessions] == [["success"], ["failure"]]
    assert dict(reach.episodes_by_depth) == {0: 1, 1: 1, 2: 1}
    assert (reach.withheld, reach.cut) == (0, False)


def test_a_search_itself_is_followed(app: App) -> None:
    root = make_episode(app, session_id="root", embedded=True)
    assert served(ask(app, "Refund a duplicate charge", session_id="one")) == [root.id]
    written = make_episode(app, session_id="one")

    reach = reach_of(root)

    assert depths(reach) == {root.id: 0, written.id: 1}
    first = reach.sessions[0].first
    assert (first.episode_id, first.revision, first.rank, first.outcome) == (
        root.id,
        1,
        1,
        "success",
    )


def test_it_is_one_query_of_any_size(app: App, root: Episode) -> None:
    parents = [root]
    for number in range(20):
        parents.append(spread(app, parents[-2:], session_id=f"s-{number}"))

    cutoffs = app.cutoffs

    with CaptureQueriesContext(connection) as queries:
        read_reach(app_id=app.id, roots=[root.id], cutoffs=cutoffs)

    assert len(queries) == 1


def test_a_cycle_ends(app: App, root: Episode) -> None:
    first = spread(app, [root], session_id="one")
    log_recall(app, first, session_id="root")
    write(app, session_id="root", sequence=2, session=make_session(steps=make_steps(["notify"])))
    log_recall(app, first, session_id="one")

    reach = reach_of(root)

    assert depths(reach) == {root.id: 0, first.id: 1}
    assert sessions(reach) == [("one", 1, 2), ("root", 2, 1)]


def test_the_shortest_way_counts(app: App, root: Episode) -> None:
    first = spread(app, [root], session_id="one")
    both = spread(app, [root, first], session_id="two")

    reach = reach_of(root)

    assert depths(reach) == {root.id: 0, first.id: 1, both.id: 1}
    assert reach.nodes[2].via == (root.id,)
    assert sessions(reach) == [("one", 1, 1), ("two", 1, 1)]


def test_depth_is_limited_and_says_so(app: App, root: Episode) -> None:
    parents = [root]
    for number in range(6):
        parents.append(spread(app, [parents[-1]], session_id=f"s-{number}"))

    five, seven = reach_of(root), reach_of(root, max_depth=7)

    assert sorted(depths(five).values()) == [0, 1, 2, 3, 4, 5]
    assert five.cut
    assert sorted(depths(seven).values()) == [0, 1, 2, 3, 4, 5, 6]
    assert not seven.cut


def test_what_was_recalled_after_the_end_influenced_nothing(app: App, root: Episode) -> None:
    written = make_episode(app, session_id="one")
    log_recall(app, root, session_id="one", at=clock.now() + MINUTE)

    reach = reach_of(root)

    assert depths(reach) == {root.id: 0}
    assert [(one.session_id, one.ended[0].episode_id) for one in reach.sessions] == [
        ("one", written.id)
    ]


def test_what_was_recalled_before_a_later_write_did(app: App, root: Episode) -> None:
    written = make_episode(app, session_id="one")
    log_recall(app, root, session_id="one", at=clock.now() + MINUTE)
    with clock.at(clock.now() + 2 * MINUTE):
        write(app, session_id="one", session=make_session(steps=make_steps(["refund", "notify"])))

    assert depths(reach_of(root)) == {root.id: 0, written.id: 1}


def test_what_was_served_before_its_own_influence_carried_nothing(app: App, root: Episode) -> None:
    now = clock.now()
    early = make_episode(app, session_id="one")
    log_recall(app, early, session_id="two", at=now + MINUTE)
    with clock.at(now + 2 * MINUTE):
        two = make_episode(app, session_id="two")
    log_recall(app, root, session_id="one", at=now + 3 * MINUTE)
    with clock.at(now + 4 * MINUTE):
        write(app, session_id="one", session=make_session(steps=make_steps(["refund", "notify"])))

    reach = reach_of(root)

    assert two.id not in depths(reach)
    assert depths(reach) == {root.id: 0, early.id: 1}
    assert sessions(reach) == [("one", 1, 1)]


def test_an_earlier_influence_over_a_longer_way_is_followed(app: App, root: Episode) -> None:
    """Reached directly, late, and earlier by way of another: what lies between counts, too."""
    now = clock.now()
    late = make_episode(app, session_id="late")
    first = spread(app, [root], session_id="one")
    log_recall(app, first, session_id="late", at=now + MINUTE)
    log_recall(app, late, session_id="between", at=now + 2 * MINUTE)
    with clock.at(now + 3 * MINUTE):
        between = make_episode(app, session_id="between")
    log_recall(app, root, session_id="late", at=now + 4 * MINUTE)
    with clock.at(now + 5 * MINUTE):
        write(app, session_id="late", session=make_session(steps=make_steps(["refund", "notify"])))

    assert depths(reach_of(root)) == {root.id: 0, first.id: 1, late.id: 1, between.id: 3}


def test_an_open_episode_may_be_influenced_still(app: App, root: Episode) -> None:
    answer = write(app, session_id="one", final=False)
    log_recall(app, root, session_id="one", at=clock.now() + MINUTE)

    assert answer.episode_id in depths(reach_of(root))


def test_the_control_arm_was_given_nothing(app: App, root: Episode) -> None:
    log_recall(app, root, session_id="held-out", arm="control")
    make_episode(app, session_id="held-out")

    reach = reach_of(root)

    assert depths(reach) == {root.id: 0}
    assert (list(reach.sessions), reach.withheld) == ([], 1)


def test_a_search_without_a_session_is_seen_and_ends_there(app: App, root: Episode) -> None:
    log_recall(app, root, user_id="user-7")
    log_recall(app, root, user_id="user-7")

    reach = reach_of(root)

    assert [(one.user_id, one.session_id, one.recalls) for one in reach.sessions] == [
        ("user-7", None, 2)
    ]
    assert reach.sessions[0].ended == ()


def test_an_episode_of_the_organisation_reaches_many_subjects(app: App) -> None:
    shared = share(app, embedded=False)
    written = {
        spread(app, [shared], session_id="s-1", user_id=f"user-{number}").id for number in range(3)
    }

    reach = reach_of(shared)

    assert (reach.nodes[0].scope, reach.nodes[0].user_id, reach.nodes[0].exists) == (
        "org",
        None,
        True,
    )
    assert {node.episode_id for node in reach.nodes if node.depth == 1} == written
    assert {one.user_id for one in reach.sessions} == {"user-0", "user-1", "user-2"}


def test_the_same_session_id_of_another_subject_is_another_session(app: App, root: Episode) -> None:
    spread(app, [root], session_id="one")
    make_episode(app, session_id="one", user_id="user-2")

    assert {node.user_id for node in reach_of(root).nodes} == {"user-1"}


def test_another_apps_log_is_not_read(app: App, root: Episode) -> None:
    other = make_app()
    log_recall(other, root, session_id="theirs")
    make_episode(other, session_id="theirs")

    reach = reach_of(root)
    foreign = read_reach(app_id=other.id, roots=[make_episode(app).id])

    assert depths(reach) == {root.id: 0}
    assert list(reach.sessions) == []
    assert [(node.depth, node.exists) for node in foreign.nodes] == [(0, False)]


def test_what_was_served_and_is_gone_is_said(app: App, root: Episode) -> None:
    written = spread(app, [root], session_id="one")
    log_recall(app, written, session_id="two")
    gone = ids.new_id()
    never = read_reach(app_id=app.id, roots=[gone])
    assert [(n.episode_id, n.exists, n.n_recalls) for n in never.nodes] == [(gone, False, 0)]

    with clock.at(clock.now() + timedelta(days=app.retention_days + 1)):
        reach = reach_of(root)

    assert [(node.exists, node.user_id, node.n_recalls) for node in reach.nodes] == [
        (False, None, 1),
        (False, None, 1),
    ]
    assert [(one.session_id, one.ended) for one in reach.sessions] == [("one", ()), ("two", ())]


def test_who_is_being_erased_is_hidden_and_what_came_of_them_is_not(
    app: App, root: Episode
) -> None:
    leaving = spread(app, [root], session_id="one", user_id="leaving")
    staying = spread(app, [leaving], session_id="two", user_id="staying")
    other = make_app()
    request_erasure(app=other, user_id="staying", actor=ACTOR)  # the same id in another app
    request_erasure(app=app, user_id="leaving", actor=ACTOR)

    reach = reach_of(root)

    assert [(node.episode_id, node.user_id, node.exists) for node in reach.nodes] == [
        (root.id, "user-1", True),
        (leaving.id, None, False),
        (staying.id, "staying", True),
    ]
    assert sessions(reach) == [("two", 2, 1)]


def test_several_roots_are_one_reach(app: App, root: Episode) -> None:
    other = make_episode(app, session_id="other")
    both = spread(app, [root, other], session_id="one")

    reach = reach_of(root, other)

    assert depths(reach) == {root.id: 0, other.id: 0, both.id: 1}
    assert set(reach.nodes[2].via) == {root.id, other.id}


def test_it_can_be_asked_as_of_a_moment(app: App, root: Episode) -> None:
    spread(app, [root], session_id="one")
    then = clock.now()
    with clock.at(then + MINUTE):
        spread(app, [root], session_id="two")

    reach = read_reach(app_id=app.id, roots=[root.id], until=then)

    assert sessions(reach) == [("one", 1, 1)]
    assert len(reach.nodes) == 2


def test_it_says_what_is_blocked(app: App, root: Episode) -> None:
    written = spread(app, [root], session_id="one")
    block_episode(episode=written, kind="quarantine", actor=ACTOR)

    assert [node.recall_state for node in reach_of(root).nodes] == ["recallable", "blocked"]
