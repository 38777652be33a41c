"""What is published is given to other subjects, labelled, until it is taken back."""

from __future__ import annotations

from typing import Any

import pytest

from curation.models import Precedent
from curation.promotion import withdraw_precedent
from episodes.embedding.pipeline import embed_due
from episodes.models import App, RecallHit
from tests.curation.promotion.scene import ANNA, GOALS, SUBJECT, make_published, org_episode
from tests.episodes.asking import ask

pytestmark = pytest.mark.django_db


def found(app: App, **request: Any) -> list[tuple[str, str]]:
    answer: Any = ask(app, query=GOALS[1], **request)
    return [(str(one["episode_id"]), str(one["scope"])) for one in answer["memories"]]


def publish(app: App) -> Precedent:
    made = make_published(app)
    embed_due(app=app)
    return made


def test_another_subject_is_given_it_as_the_organisations(app: App) -> None:
    made = publish(app)

    assert found(app, user_id="newcomer") == [(str(made.org_episode_id), "org")]
    assert found(app, user_id="newcomer", scope="user") == []
    hit = RecallHit.objects.get(app=app, episode_id=org_episode(made).id)
    assert (hit.scope, hit.outcome, hit.reviewed) == ("org", "success", True)


def test_whose_wording_it_is_is_given_their_own(app: App) -> None:
    made = publish(app)

    assert found(app, user_id=SUBJECT) == [(str(made.source_episode_id), "user")]


def test_what_is_withdrawn_is_gone_from_the_next_search(app: App) -> None:
    made = publish(app)

    withdraw_precedent(precedent=made, actor=ANNA, seen=2, reason="Wrong.")

    assert found(app, user_id="newcomer") == []
