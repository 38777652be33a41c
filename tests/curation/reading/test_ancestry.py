"""The walk back from an episode: how far it goes, and when it says that there was more."""

from __future__ import annotations

import pytest

from curation.reading.ancestry import DEEPEST, read_ancestry
from episodes.models import App, Member
from tests.episodes.recall_log import spread
from tests.factories import make_episode


@pytest.mark.parametrize(("generations", "is_cut"), [(DEEPEST, False), (DEEPEST + 1, True)])
def test_a_walk_is_cut_only_where_something_lies_beyond(
    app: App, generations: int, is_cut: bool
) -> None:
    last = make_episode(app, session_id="first")
    for n in range(generations):
        last = spread(app, [last], session_id=f"run-{n}")

    found = read_ancestry(member=Member(app=app), episode_ids=[last.id])

    assert (len(found.ancestors), found.is_cut) == (DEEPEST, is_cut)
