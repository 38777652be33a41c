"""Taken back, replaced, offered to another app, and what an erasure leaves of it."""

from __future__ import annotations

import pytest

from curation.models import Contribution, Precedent
from curation.promotion import (
    Forgotten,
    approve_precedent,
    edit_draft,
    forget_contributor,
    offer_precedent,
    propose_precedent,
    refuse_precedent,
    withdraw_precedent,
)
from curation.promotion.refusals import (
    AlreadyOfferedError,
    NotPublishedError,
    ProposalChangedError,
    SamePersonError,
    SourceChangedError,
)
from curation.saying import NothingKeptError
from episodes.audit import SYSTEM, Actor
from episodes.models import App, AuditPayload, Block
from episodes.tombstones import subject_hash
from memoryadmin.lib.erasable import as_eraser
from tests.curation.promotion.scene import (
    ANNA,
    BEN,
    CARA,
    SUBJECT,
    make_proposal,
    make_published,
    org_episode,
    source_of,
)
from tests.factories import make_app

pytestmark = pytest.mark.django_db


def hashed(app: App, user_id: str) -> bytes:
    return subject_hash(app_id=app.pk, user_id=user_id)


@as_eraser()
def forget(*, app: App, subject_hash: bytes, actor: Actor) -> Forgotten:
    return forget_contributor(app=app, subject_hash=subject_hash, actor=actor)


def test_what_is_withdrawn_is_given_to_nobody(app: App) -> None:
    made = make_published(app)
    with pytest.raises(NothingKeptError):
        withdraw_precedent(precedent=made, actor=ANNA, seen=2, reason=" ")
    with pytest.raises(ProposalChangedError):
        withdraw_precedent(precedent=made, actor=ANNA, seen=1, reason="Wrong.")

    ended = withdraw_precedent(precedent=made, actor=ANNA, seen=2, reason="Policy changed.")

    assert (ended.status, ended.ended_by, ended.end_reason) == (
        "withdrawn",
        "anna",
        "Policy changed.",
    )
    assert org_episode(made).recall_state == "blocked"
    [block] = Block.objects.filter(app=app)
    assert (block.kind, block.change_id, block.reason) == ("withdrawn", made.id, "withdrawn")
    with pytest.raises(NotPublishedError):
        withdraw_precedent(precedent=made, actor=ANNA, seen=3, reason="Again.")


def test_a_successor_replaces_what_it_supersedes_when_it_is_approved(app: App) -> None:
    old = make_published(app)
    source = source_of(old)

    new = propose_precedent(episode=source, actor=BEN, supersedes=old)
    new = edit_draft(precedent=new, texts={"lesson": "Look first."}, actor=BEN, seen=1)
    assert org_episode(old).recall_state == "recallable"
    done = approve_precedent(precedent=new, actor=CARA, seen=2)

    old.refresh_from_db()
    assert (old.status, done.status, done.supersedes) == ("superseded", "approved", old.id)
    assert org_episode(old).recall_state == "blocked"
    assert org_episode(done).recall_state == "recallable"


def test_only_what_is_published_is_superseded(app: App) -> None:
    made = make_proposal(app)
    source = source_of(made)

    with pytest.raises(NotPublishedError):
        propose_precedent(episode=source, actor=BEN, supersedes=made)


def test_an_offer_is_approved_by_another_person_in_the_other_app(app: App) -> None:
    made = make_published(app)
    other = make_app("other-agent")

    offer = offer_precedent(precedent=made, to=other, actor=ANNA, seen=2)
    with pytest.raises(SamePersonError):
        approve_precedent(precedent=offer, actor=ANNA, seen=1)
    done = approve_precedent(precedent=offer, actor=CARA, seen=1)

    assert (offer.status, offer.app, offer.user_id, offer.source_episode_id) == (
        "offered",
        other,
        None,
        None,
    )
    head = org_episode(done)
    assert (head.app_id, head.scope, head.outcome) == (other.pk, "org", "success")
    assert bytes(head.wording_hash or b"") == hashed(app, SUBJECT)
    assert Contribution.objects.filter(app=other, subject_app=app).count() == 3


def test_who_worded_an_offer_does_not_approve_it_elsewhere(app: App) -> None:
    made = make_proposal(app)
    made = edit_draft(precedent=made, texts={"resolution": "Refunded."}, actor=CARA, seen=1)
    made = approve_precedent(precedent=made, actor=BEN, seen=2)
    offer = offer_precedent(precedent=made, to=make_app(), actor=BEN, seen=3)

    for author in (ANNA, CARA, BEN):
        with pytest.raises(SamePersonError):
            approve_precedent(precedent=offer, actor=author, seen=1)

    assert (offer.proposer, offer.editors) == ("ben", ["anna", "cara"])


def test_an_offer_is_made_once_and_of_what_is_published(app: App) -> None:
    made = make_published(app)
    other = make_app("other-agent")
    offer = offer_precedent(precedent=made, to=other, actor=ANNA, seen=2)

    with pytest.raises(AlreadyOfferedError):
        offer_precedent(precedent=made, to=other, actor=BEN, seen=2)
    with pytest.raises(NotPublishedError):
        offer_precedent(precedent=made, to=app, actor=BEN, seen=2)
    refuse_precedent(precedent=offer, actor=CARA, seen=1, reason="Not our tools.")
    again = offer_precedent(precedent=made, to=other, actor=BEN, seen=2)
    withdraw_precedent(precedent=made, actor=CARA, seen=2, reason="Wrong.")
    with pytest.raises(SourceChangedError) as refused:
        approve_precedent(precedent=again, actor=CARA, seen=1)
    assert refused.value.why == "origin_ended"
    with pytest.raises(NotPublishedError):
        offer_precedent(precedent=made, to=make_app(), actor=BEN, seen=3)


def test_an_erasure_withdraws_the_subjects_wording_everywhere(app: App) -> None:
    made = make_published(app)
    other = make_app("other-agent")
    copy = approve_precedent(
        precedent=offer_precedent(precedent=made, to=other, actor=ANNA, seen=2),
        actor=CARA,
        seen=1,
    )
    before = set(AuditPayload.objects.values_list("entry_id", flat=True))

    done = forget(app=app, subject_hash=hashed(app, SUBJECT), actor=SYSTEM)

    assert (done.withdrawn, done.dropped, done.recounted, done.below_threshold) == (2, 0, 0, 0)
    assert set(done.org_episodes) == {made.org_episode_id, copy.org_episode_id}
    for precedent in (made, copy):
        precedent.refresh_from_db()
        assert (precedent.status, precedent.is_to_rederive) == ("withdrawn", True)
        assert (precedent.user_id, precedent.source_episode_id) == (None, None)
        assert (precedent.goal, precedent.steps, precedent.redactions) == ("", [], [])
        assert org_episode(precedent).recall_state == "blocked"
    new = AuditPayload.objects.exclude(entry_id__in=before)
    assert {payload.user_id for payload in new} == {None}
    again = forget(app=app, subject_hash=hashed(app, SUBJECT), actor=SYSTEM)
    assert (again.withdrawn, again.org_episodes) == (0, [])


def test_an_erasure_recounts_what_others_worded(app: App) -> None:
    made = make_published(app, peers=3)

    kept = forget(app=app, subject_hash=hashed(app, "peer-0"), actor=SYSTEM)
    made.refresh_from_db()
    assert (kept.recounted, kept.below_threshold, made.status, made.n_subjects) == (
        1,
        0,
        "approved",
        3,
    )

    short = forget(app=app, subject_hash=hashed(app, "peer-1"), actor=SYSTEM)
    made.refresh_from_db()
    assert (short.recounted, short.below_threshold) == (1, 1)
    assert (made.status, made.n_subjects, made.is_to_rederive) == ("withdrawn", 2, False)
    assert made.goal != ""
    [block] = Block.objects.filter(app=app)
    assert (block.kind, block.reason) == ("withdrawn", "below_threshold")


def test_an_erasure_drops_proposals_and_leaves_other_apps_subjects(app: App) -> None:
    made = make_proposal(app)
    other = make_app("other-agent")
    foreign = make_published(other)

    done = forget(app=app, subject_hash=hashed(app, SUBJECT), actor=SYSTEM)

    made.refresh_from_db()
    foreign.refresh_from_db()
    assert (done.dropped, done.withdrawn) == (1, 0)
    assert (made.status, made.goal, made.user_id) == ("withdrawn", "", None)
    assert (foreign.status, foreign.user_id) == ("approved", SUBJECT)
    assert Precedent.objects.filter(user_id=SUBJECT).count() == 1
