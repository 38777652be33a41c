"""Everything the desk and the settings change, with the database rights of the web's own role."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from curation.privileged import record_log_read, record_recall_read
from curation.review.deciding import Seen, accept_feedback, correct_outcome, undo_decision
from curation.review.queue import read_queue
from episodes.applications import (
    CONSTANTS,
    change_profile,
    change_whitelist,
    whitelist_state,
)
from episodes.feedback import record_feedback
from episodes.keys.issuing import issue_key, revoke_key
from episodes.members import add_member, change_role, remove_member
from episodes.models import App, AuditEntry, Member, Recall
from episodes.toolsets import declare_toolset, retire_toolset
from tests.curation.cast import make_user
from tests.curation.recalls import make_recall
from tests.factories import ACTOR, make_episode

AsApp = Callable[[], AbstractContextManager[None]]


def acts_of(app: App) -> list[str]:
    entries = AuditEntry.objects.filter(app=app).order_by("at", "id")
    return list(entries.values_list("verb", flat=True))


def test_a_reviewers_acts(app: App, as_app: AsApp) -> None:
    episode = make_episode(app, outcome=None)
    feedback, _ = record_feedback(
        app=app,
        user_id="user-1",
        session_id=episode.session_id or "",
        rating="negative",
        actor=ACTOR,
    )
    before = len(acts_of(app))

    with as_app():
        entry = correct_outcome(
            episode=episode,
            outcome="success",
            reason="As read.",
            seen=Seen.of(episode),
            actor=ACTOR,
        )
        undo_decision(entry=entry, actor=ACTOR)
        episode.refresh_from_db()
        accept_feedback(
            episode=episode, feedback=feedback, reason="So.", seen=Seen.of(episode), actor=ACTOR
        )
        assert read_queue(member=Member(app=app)).total == 0

    assert acts_of(app)[before:] == ["outcome.stated", "outcome.retracted", "outcome.stated"]


def test_an_admins_acts(app: App, as_app: AsApp) -> None:
    user = make_user("anna")
    before = len(acts_of(app))
    constants = {name: getattr(app.profile, name) for name in CONSTANTS}

    with as_app():
        change_whitelist(app=app, rules={}, seen=whitelist_state(app), actor=ACTOR)
        change_profile(app=app, constants=constants | {"partial": 0.9}, seen=1, actor=ACTOR)
        declare_toolset(app=app, tools=[], version="v1", actor=ACTOR)
        retire_toolset(app=app, version="v1", actor=ACTOR)
        key, _ = issue_key(app=app, name="bot", scopes=["search"], actor=ACTOR)
        revoke_key(key=key, actor=ACTOR)
        member = add_member(app=app, user=user, role="viewer", actor=ACTOR)
        change_role(member=member, role="reviewer", actor=ACTOR)
        remove_member(member=member, actor=ACTOR)

    assert acts_of(app)[before:] == [
        "whitelist.changed",
        "profile.changed",
        "toolset.declared",
        "toolset.retired",
        "key.issued",
        "key.revoked",
        "member.added",
        "member.role_changed",
        "member.removed",
    ]


def test_reads_that_are_recorded(app: App, as_app: AsApp) -> None:
    make_recall(app)
    before = len(acts_of(app))

    with as_app():
        record_log_read(app=app, actor=ACTOR, user_id=None, narrowed_by={})
        record_recall_read(app=app, actor=ACTOR, recall=Recall.objects.get())

    assert acts_of(app)[before:] == ["recalls.read", "recall.read"]
