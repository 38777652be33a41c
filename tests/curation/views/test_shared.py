"""What the organisation shares has no subject and no session: no page may need one."""

from __future__ import annotations

import pytest
from django.test import Client

from curation.review.queue import read_item
from episodes.models import App, Episode, Member
from tests.curation.cast import member_client
from tests.curation.recalls import make_recall
from tests.curation.views.page import Page
from tests.episodes.sharing import share
from tests.factories import make_episode


@pytest.fixture
def shared(app: App) -> Episode:
    return share(app)


def read(client: Client, app: App, path: str) -> Page:
    return Page(client.get(f"/apps/{app.name}/{path}"))


def badges(page: Page) -> list[str]:
    return [text for text in page.texts("span", class_="badge") if text == "Organisation"]


def test_its_page_says_whose_it_is(app: App, viewer: Client, shared: Episode) -> None:
    page = read(viewer, app, f"episodes/{shared.id}/")

    assert (page.status, badges(page)) == (200, ["Organisation"])
    assert "the organisation: no subject, no session" in page.texts("dd")
    assert any("belongs to none" in text for text in page.texts("p", class_="help"))


@pytest.mark.parametrize("part", ["recalls/", "revisions/", "history/"])
def test_every_part_of_its_page_opens(
    app: App, compliance: Client, shared: Episode, part: str
) -> None:
    make_recall(app, scope="org")

    assert read(compliance, app, f"episodes/{shared.id}/{part}").status == 200


def test_a_subjects_own_says_nothing_of_it(app: App, viewer: Client) -> None:
    own = make_episode(app)

    assert badges(read(viewer, app, f"episodes/{own.id}/")) == []


def test_the_list_names_the_organisation_where_a_subject_stands(
    app: App, viewer: Client, shared: Episode
) -> None:
    assert read(viewer, app, "episodes/").texts("td", class_="subject") == ["the organisation"]


def test_a_recall_tells_what_was_shared_from_what_was_ones_own(
    app: App, compliance: Client, shared: Episode
) -> None:
    make_episode(app, tools=["own"], embedded=True)
    share(app, goal="Refund the duplicate charge.", tools=["third"])

    page = read(compliance, app, f"recalls/{make_recall(app)}/")

    assert (page.status, len(badges(page))) == (200, 2)


def test_an_unverified_one_waits_in_the_queue_and_opens(app: App) -> None:
    claimed = share(app, source="agent_claim")
    reviewer = member_client(app, "reviewer")

    listed, opened = read(reviewer, app, "queue/"), read(reviewer, app, f"queue/{claimed.id}/")

    assert [listed.status, opened.status] == [200, 200]
    assert any("belongs to no session" in text for text in opened.texts("p", class_="help"))
    item = read_item(member=Member.objects.get(app=app, role="reviewer"), episode_id=claimed.id)
    assert item is not None
    assert (item.user_id, item.session_id) == (None, None)


def test_the_overview_counts_it(app: App, viewer: Client, shared: Episode) -> None:
    assert read(viewer, app, "").status == 200
