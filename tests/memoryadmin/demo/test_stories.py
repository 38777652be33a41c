"""The stories of the demo: the refund, the poison, and the personal data that is not there."""

from __future__ import annotations

from datetime import timedelta

import pytest

from curation.models import Incident
from curation.reading.as_of import compare_as_of
from curation.reading.incident_backwards import read_backwards
from curation.reading.incident_forwards import read_forwards
from curation.reading.incidents import read_incident
from curation.review.deciding import Seen, accept_feedback
from curation.review.queue import read_queue
from episodes.enums import BlockKind
from episodes.models import Block, Episode, EpisodeRevision, Feedback, Member, RecallHit
from memoryadmin.demo import correction, investigating, poison, special, story
from memoryadmin.demo.gateway import Gateway
from memoryadmin.demo.people import member
from memoryadmin.demo.personal import canaries
from memoryadmin.lib import clock
from tests.memoryadmin.demo.world import BILLING, NOW, World, rows

# pytest-django makes a database for tests that say so; `demo` is around each of them
pytestmark = pytest.mark.django_db


def test_the_printed_search_finds_a_before_b_and_not_c(demo: World) -> None:
    answer = demo.search()
    ids = {letter: str(demo.episode(session).id) for letter, session in story.SESSIONS.items()}
    memories, excluded = answer["memories"], answer["excluded"]

    assert [memory["episode_id"] for memory in memories] == [ids["A"], ids["B"]]
    assert [memory["outcome"] for memory in memories] == ["success", "failure"]
    assert [memory["toolset"] for memory in memories] == ["current", "current"]
    # what the organisation shares is about something else
    near = [other for other in excluded if other["reason"] != "below_minimum"]
    assert [(other["episode_id"], other["reason"]) for other in near] == [(ids["C"], "cap")]


@pytest.mark.parametrize(
    ("letter", "similarity", "score"), [("A", 0.91, 0.796), ("B", 0.88, 0.378), ("C", 0.86, 0.049)]
)
def test_its_figures_are_those_of_the_rule(
    demo: World, letter: str, similarity: float, score: float
) -> None:
    answer = demo.search()
    ranked = [*answer["memories"], *answer["excluded"]]
    episode_id = str(demo.episode(story.SESSIONS[letter]).id)
    [memory] = [each for each in ranked if each["episode_id"] == episode_id]

    assert memory["similarity"] == pytest.approx(similarity, abs=0.01)
    assert memory["score"] == pytest.approx(score, abs=0.01)


def test_a_asked_for_approval_because_of_b_and_b_had_only_c(demo: World) -> None:
    def recalled(letter: str) -> list[str | None]:
        sessions = rows(
            "SELECT e.session_id FROM episodes_recall r"
            " JOIN episodes_recallhit h ON h.recall_id = r.id"
            " JOIN episodes_episode e ON e.id = h.episode_id"
            " WHERE r.session_id = %s ORDER BY r.recalled_at, h.rank",
            story.SESSIONS[letter],
        )
        return [session for (session,) in sessions]

    assert recalled("C") == []
    assert recalled("B") == [story.SESSIONS["C"]]
    assert recalled("A")[0] == story.SESSIONS["B"]
    assert demo.served(story.SESSIONS["C"]).tools[-1] == "issue_refund"
    assert demo.served(story.SESSIONS["B"]).errors == ["APPROVAL_REQUIRED"]
    assert demo.served(story.SESSIONS["A"]).tools[-2:] == ["open_approval_ticket", "refund_payment"]


def test_an_unknown_outcome_beside_good_feedback_waits_to_change_what_is_served(
    demo: World,
) -> None:
    reviewer = Member.objects.get(app=demo.app(BILLING), user__username="reviewer")
    unknown = demo.episode(correction.UNKNOWN)
    feedback = Feedback.objects.get(session_id=correction.UNKNOWN)

    def served() -> list[str]:
        with clock.at(NOW):
            found = Gateway(demo.access.key, "127.0.0.1").post(
                "search", {"user_id": correction.SUBJECT, "query": correction.QUERY}
            )
        return [memory["episode_id"] for memory in found["memories"]]

    with clock.at(NOW):
        queue = read_queue(member=reviewer)
    before = served()
    with clock.at(NOW + timedelta(minutes=1)):
        accept_feedback(
            episode=unknown,
            feedback=feedback,
            reason="Paid.",
            seen=Seen.of(unknown),
            actor=member("reviewer"),
        )

    known = demo.episode(correction.KNOWN)
    assert unknown.id in [item.id for item in queue.items[:3]]
    assert before == [str(known.id), str(unknown.id)]
    assert served() == [str(unknown.id), str(known.id)]


def test_the_poison_spreads_from_one_session_to_all_later_ones(demo: World) -> None:
    sessions = list(
        Episode.objects.filter(user_id=poison.SUBJECT)
        .order_by("completed_at")
        .values_list("session_id", flat=True)
    )
    poisoned = sessions[1:]

    assert sessions[:2] == [poison.BEFORE, poison.FIRST]
    assert len(poisoned) == 9
    assert "set_refund_override" not in demo.served(poison.BEFORE).tools
    assert [tuple(demo.served(str(session)).tools) for session in poisoned] == [poison.INJECTED] * 9
    assert descendants(demo, poison.FIRST) == set(poisoned[1:])


def descendants(demo: World, session: str) -> set[str]:
    """The sessions that recalled its episode, or an episode of one that did."""
    reached: set[str] = set()
    front = {session}
    while front:
        told = rows(
            "SELECT DISTINCT r.session_id FROM episodes_recall r"
            " JOIN episodes_recallhit h ON h.app_id = r.app_id AND h.recall_id = r.id"
            " JOIN episodes_episode e ON e.app_id = h.app_id AND e.id = h.episode_id"
            " WHERE e.session_id = ANY (%s)",
            sorted(front),
        )
        front = {reached_by for (reached_by,) in told} - reached - {session}
        reached |= front
    return reached


def test_nobody_has_flagged_it_yet_but_finance_reported_two(demo: World) -> None:
    heads = Episode.objects.filter(user_id=poison.SUBJECT)

    assert not Block.objects.filter(
        kind=BlockKind.QUARANTINE, episode__user_id=poison.SUBJECT
    ).exists()
    assert heads.filter(outcome="failure", outcome_source="tool").count() == 2
    assert heads.filter(outcome="success").count() > 4
    assert RecallHit.objects.filter(user_id=poison.SUBJECT).count() > 10


def test_nothing_of_the_personal_data_is_stored_anywhere(demo: World) -> None:
    """Every value of every column of the schema, as text, as it was written and as digits only."""
    wanted = [*canaries(), poison.NOTE, "Lena", "three candidates, first one looks right"]
    digits = ["".join(filter(str.isalnum, value)) for value in canaries() if "@" not in value]
    tables = rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    everything = "\n".join(
        str(text)
        for (table,) in tables
        for (text,) in rows(f"SELECT t::text FROM {table} t")  # noqa: S608
    )

    assert [value for value in wanted if value in everything] == []
    assert [value for value in digits if value in everything] == []
    # it did look
    assert "<EMAIL>" in everything
    assert "acct_larkspur" in everything


def test_it_was_really_sent_and_masked(demo: World) -> None:
    goals = "\n".join(EpisodeRevision.objects.values_list("goal", flat=True))
    queries = "\n".join(query for (query,) in rows("SELECT query FROM episodes_recall"))
    comments = "\n".join(comment for (comment,) in rows("SELECT comment FROM episodes_feedback"))

    for kind in ("<EMAIL>", "<PHONE>", "<CARD>"):
        assert kind in goals
    assert "<EMAIL>" in queries
    assert "<EMAIL>" in comments or "<PHONE>" in comments or "<CARD>" in comments
    named = Episode.objects.filter(user_id=special.NAMED).values_list("session_id", flat=True)
    assert ["<SUBJECT>" in demo.served(str(session)).goal for session in named] == [True] * 3


def test_compliance_follows_the_poison_to_every_session_that_was_given_it(demo: World) -> None:
    seat = Member.objects.get(app=demo.app(BILLING), user__username="compliance")
    incident = Incident.objects.get(title=investigating.TITLE)

    with clock.at(NOW):
        page = read_incident(member=seat, incident_id=incident.id)
        assert page is not None
        backwards = read_backwards(member=seat, roots=page.roots)
        forwards = read_forwards(member=seat, roots=page.roots, backwards=backwards)
        compared = compare_as_of(
            member=seat,
            recall=backwards.recalled[0].recall,
            moment=backwards.recalled[0].recall.recalled_at,
        )

    assert (incident.state, incident.opened_by, incident.user_id) == (
        "open",
        "compliance",
        poison.SUBJECT,
    )
    assert [event.kind for event in page.events].count("note") == 2
    assert [suspect.is_followed for suspect in forwards.suspects].count(True) == 1
    assert {session.session_id for session in forwards.reach.sessions} == {
        f"chat-brightwater-{number}" for number in range(3, 11)
    }
    assert compared.agrees is True
