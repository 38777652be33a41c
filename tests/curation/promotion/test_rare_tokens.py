from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from curation.promotion.rare_tokens import rare
from episodes.enums import BlockKind
from episodes.lifecycle import block_episode
from tests.factories import ACTOR, make_app, make_episode

pytestmark = pytest.mark.django_db


def test_a_word_is_rare_below_k_subjects() -> None:
    app = make_app()
    for user in ("a", "b", "c"):
        make_episode(app, user_id=user, goal="Please restart the kubelet and the flumbert gadget.")
    for user in ("a", "b"):
        make_episode(app, user_id=user, goal="Please restart the brombolin of the house again.")

    words = ("kubelet", "flumbert", "brombolin", "zwackel", "house", "get_user_details")

    assert rare(app, words, 3) == {"brombolin", "zwackel"}
    assert rare(app, words, 2) == {"zwackel"}


def test_one_subject_counts_once() -> None:
    app = make_app()
    for _ in range(4):
        make_episode(app, user_id="a", goal="Please restart the brombolin of the house again.")

    assert rare(app, ("brombolin",), 3) == {"brombolin"}


def test_another_app_lends_no_company() -> None:
    app, other = make_app(), make_app()
    for user in ("a", "b", "c"):
        make_episode(other, user_id=user, goal="Please restart the brombolin of the house again.")

    assert rare(app, ("brombolin",), 3) == {"brombolin"}


def test_what_is_kept_out_of_recall_lends_no_company() -> None:
    app = make_app()
    for user in ("a", "b", "c"):
        episode = make_episode(app, user_id=user, goal="Please restart the brombolin of the house.")
        block_episode(episode=episode, kind=BlockKind.QUARANTINE, actor=ACTOR)

    assert rare(app, ("brombolin",), 3) == {"brombolin"}


def test_ids_are_found_whole() -> None:
    app = make_app()
    for user in ("a", "b", "c"):
        make_episode(app, user_id=user, goal="What became of the flight HAT069 on 2024-05-15?")

    assert rare(app, ("hat069", "hat070", "2024-05-15", "2024-05-16"), 3) == {
        "hat070",
        "2024-05-16",
    }


def test_hostile_words_are_only_words() -> None:
    words = ("'; drop table x", "%", "\\", "a" * 128, "🙂", "<->", "!!", "")

    assert rare(make_app(), words, 3) <= set(words)


def test_a_flood_of_words_is_not_asked_about() -> None:
    words = [f"zwackel{number}x" for number in range(3_000)]

    with CaptureQueriesContext(connection) as queries:
        assert rare(make_app(), words, 3) == frozenset(words)

    asked = [query for query in queries if "phraseto_tsquery" in query["sql"]]
    assert len(asked) == 10
