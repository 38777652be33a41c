"""Nothing of a subject's identifiers is in what the organisation shares: not in a row, not in the
text that is embedded, not in what search finds it by, not in what the API and the console show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client

from curation.models import Precedent
from curation.promotion import (
    approve_precedent,
    offer_precedent,
    propose_precedent,
    withdraw_precedent,
)
from curation.promotion.scan import scan_precedent
from episodes.embedding.pipeline import embed_due
from episodes.embedding.text import embedding_text
from episodes.models import App, Episode, EpisodeRevision, EpisodeVector
from tests.curation.promotion.scene import (
    ANNA,
    BEN,
    CARA,
    make_peers,
    org_episode,
    review,
)
from tests.factories import make_app, make_episode, make_key

pytestmark = pytest.mark.django_db

USER = "canaryella.finchworth@example.com"
CANARIES = (
    "canary",
    "Canaryella",
    "Finchworth",
    "finchworth",
    "CNRY-44719020",
    "44719020",
    "555 0187",
    "DE89370400440532013000",
    "10.77.12.9",
    "zyzzogeton",
)


def make_canary(app: App) -> Episode:
    """An episode with the subject's identifiers in every text that a session can bring."""
    make_peers(app, 3)
    said = "for Canaryella Finchworth (zyzzogeton), phone +1 212 555 0187"
    made = make_episode(
        app,
        user_id=USER,
        session_id="canary-session-1",
        episode_key="canary-key",
        task_id="CNRY-44719020",
        tags=("canary-tag", "CNRY-44719020"),
        agent_id="agent-of-canaryella",
        issue_type="refund_CNRY-44719020",
        toolset_version="build-of-finchworth",
        outcome="success",
        session={
            "goal": f"Refund the duplicate charge on my last invoice CNRY-44719020 {said}, please.",
            "steps": [
                {
                    "kind": "call",
                    "tool": "get_charge",
                    "call_id": "canary-call",
                    "arguments": {
                        "invoice": "CNRY-44719020",
                        "iban": "DE89370400440532013000",
                        "ip": "10.77.12.9",
                        "owner": "finchworth_c",
                        "amount": 640,
                    },
                },
                {
                    "kind": "result",
                    "tool": "get_charge",
                    "call_id": "canary-call",
                    "summary": f"Found CNRY-44719020 {said}",
                    "at": "2026-11-20T10:00:00Z",
                },
                {"kind": "call", "tool": "refund", "call_id": "2", "arguments": {"amount": 640}},
                {"kind": "result", "tool": "refund", "call_id": "2"},
            ],
            "resolution": f"Told the customer, {said}.",
            "lesson": f"Refund at once {said}.",
        },
    )
    embed_due(app=app)
    return review(made)


@pytest.fixture
def published(app: App) -> Precedent:
    made = propose_precedent(episode=make_canary(app), actor=ANNA)
    assert scan_precedent(made) == []
    done = approve_precedent(precedent=made, actor=BEN, seen=1)
    embed_due(app=app)
    return done


def rows_of_nobody(app: App) -> Iterator[tuple[str, str]]:
    """Yield every row, as text, of an app's tables that belongs to no subject; found by
    introspection, so that a new table cannot be forgotten."""
    for model in apps.get_models():
        columns = {field.column for field in model._meta.concrete_fields}
        if "app_id" not in columns or model._meta.app_label not in {"episodes", "curation"}:
            continue
        table = model._meta.db_table
        of_nobody = " AND user_id IS NULL" if "user_id" in columns else ""
        with connection.cursor() as cursor:
            query = f"SELECT row_to_json(t)::text FROM {table} t WHERE app_id = %s{of_nobody}"  # noqa: S608
            cursor.execute(query, [app.pk])
            yield from ((table, text) for (text,) in cursor.fetchall())


def canaries_in(text: str) -> list[str]:
    return [canary for canary in CANARIES if canary.lower() in text.lower()]


def test_no_row_of_the_organisation_names_the_subject(app: App, published: Precedent) -> None:
    found = list(rows_of_nobody(app))

    tables = {table for table, _ in found}
    assert {"episodes_episode", "episodes_episoderevision", "episodes_episodevector"} <= tables
    assert {(table, *canaries_in(text)) for table, text in found if canaries_in(text)} == set()


def test_the_embedded_text_and_the_index_do_not_name_the_subject(
    app: App, published: Precedent
) -> None:
    head = org_episode(published)
    revision = EpisodeRevision.objects.get(app=app, episode=head)

    assert canaries_in(embedding_text(revision.goal, revision.issue_type)) == []
    assert canaries_in(f"{revision.identifiers} {revision.search}") == []
    assert EpisodeVector.objects.get(app=app, episode=head).user_id is None
    assert (head.agent_id, head.task_id, head.tags, head.toolset_version) == ("", "", [], "")
    assert revision.steps[0]["arguments"] == {"iban": "<IBAN>", "ip": "<IP>", "amount": 640}


def test_the_api_does_not_name_the_subject(app: App, published: Precedent, client: Client) -> None:
    _, secret = make_key(app)

    answer: Any = client.get(
        f"/api/v1/episodes/{published.org_episode_id}",
        headers={"Authorization": f"Bearer {secret}"},
    )

    assert (answer.status_code, answer.json()["scope"]) == (200, "org")
    assert canaries_in(answer.content.decode()) == []


def test_what_is_offered_further_and_withdrawn_does_not_either(
    app: App, published: Precedent
) -> None:
    other = make_app("other-agent")
    offer = offer_precedent(precedent=published, to=other, actor=ANNA, seen=2)
    done = approve_precedent(precedent=offer, actor=CARA, seen=1)
    withdraw_precedent(precedent=done, actor=CARA, seen=2, reason="Not our tools.")

    found = [*rows_of_nobody(app), *rows_of_nobody(other)]
    assert {(table, *canaries_in(text)) for table, text in found if canaries_in(text)} == set()
