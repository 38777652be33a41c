"""POST /erasures, DELETE /users/{user_id}, GET /erasures/{id}."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from episodes.erasure.run import run_erasures
from episodes.models import App, Episode, Erasure, IdempotencyRecord
from memoryadmin.lib import erasable, ids
from tests.episodes.api.client import ApiClient
from tests.factories import make_app, make_body, make_episode, make_key


def test_rows_are_gone_from_search_when_it_is_answered(client: ApiClient, app: App) -> None:
    make_episode(app, user_id="jane", embedded=True)
    asked = {"user_id": "jane", "query": "Refund the duplicate charge on an invoice."}
    assert len(client.post("search", asked).body["memories"]) == 1

    answer = client.post("erasures", {"user_id": "jane", "reason": "Asked for it."})

    erasure = Erasure.objects.get()
    assert (answer.status, answer.body) == (
        202,
        {"erasure_id": str(erasure.pk), "status": "scheduled"},
    )
    assert client.post("search", asked).body["memories"] == []
    late = client.post("sessions", make_body(user_id="jane", session_id="late"))
    assert (late.status, late.errors) == (410, [("", "subject_erased")])


def test_it_is_followed_to_its_certificate(client: ApiClient, app: App) -> None:
    make_episode(app, user_id="jane", embedded=True)
    erasure_id = client.post("erasures", {"user_id": "jane"}).body["erasure_id"]
    assert client.get(f"erasures/{erasure_id}").body["certificate"] is None

    run_erasures()

    told = client.get(f"erasures/{erasure_id}")
    assert (told.status, told.body["status"], told.body["found"]) == (200, "verified", {})
    assert (told.body["counts"]["episodes"], told.body["counts"]["vectors"]) == (1, 1)
    signed = told.body["certificate"]["body"]
    for name in ("requested_at", "started_at", "verified_at"):
        assert signed[name] == told.body[name]
        assert told.body[name].endswith("Z")
    assert told.body["physically_cleared_at"] is None
    assert told.body["certificate"]["body"]["erasure"] == erasure_id
    assert "jane" not in str(told.body)


def test_asking_again_returns_the_one_that_runs_and_then_starts_anew(
    client: ApiClient, app: App
) -> None:
    first = client.post("erasures", {"user_id": "jane"}).body["erasure_id"]
    assert client.request("DELETE", "users/jane").body["erasure_id"] == first

    run_erasures()

    told = client.get(f"erasures/{first}").body
    assert (told["status"], told["total"]) == ("verified", 0)
    assert told["counts"] == dict.fromkeys([store.name for store in erasable.stores()], 0)
    assert told["certificate"]["body"]["counts"] == told["counts"]
    assert client.post("erasures", {"user_id": "jane"}).body["erasure_id"] != first


@pytest.mark.parametrize("user_id", ["jane", "a/b", "a%2Fb", "100%", "ü ß", "../x", "a?b#c"])
def test_an_id_that_fits_a_path(client: ApiClient, app: App, user_id: str) -> None:
    for number, one in enumerate([user_id, "a", "jane2"]):
        make_episode(app, user_id=one, session_id=f"s{number}")

    answer = client.request("DELETE", f"users/{quote(user_id, safe='')}")
    run_erasures()

    assert (answer.status, Erasure.objects.get().counts["episodes"]) == (202, 1)
    assert sorted(str(head.user_id) for head in Episode.objects.all()) == ["a", "jane2"]


def test_the_same_key_replays_and_keeps_no_digest_of_the_id(client: ApiClient, app: App) -> None:
    first = client.post("erasures", {"user_id": "jane"}, Idempotency_Key="k-1")
    run_erasures()

    again = client.post("erasures", {"user_id": "jane"}, Idempotency_Key="k-1")

    assert (again.status, again.body) == (202, first.body)
    assert again.headers["Idempotent-Replayed"] == "true"
    other = client.post("erasures", {"user_id": "john"}, Idempotency_Key="k-1")
    assert (other.status, other.errors) == (409, [("", "idempotency_key_reused")])
    why = client.post("erasures", {"user_id": "jane", "reason": "a"}, Idempotency_Key="k-1")
    assert why.status == 409
    assert IdempotencyRecord.objects.get().subject_hashes == []


def test_it_takes_the_scope_and_the_app(client: ApiClient, app: App) -> None:
    erasure_id = client.post("erasures", {"user_id": "jane"}).body["erasure_id"]
    for scope in ("ingest", "search", "feedback", "verify", "read", "read_all"):
        other = ApiClient(make_key(app, scope)[1])
        assert other.post("erasures", {"user_id": "john"}).status == 403
        assert other.request("DELETE", "users/john").status == 403
        assert other.get(f"erasures/{erasure_id}").status == 403
    foreign = ApiClient(make_key(make_app())[1])
    assert foreign.get(f"erasures/{erasure_id}").status == 404
    assert client.get(f"erasures/{ids.new_id()}").status == 404
    assert client.post("erasures", {"user_id": "john", "app": "other"}).status == 404
    assert Erasure.objects.count() == 1


@pytest.mark.parametrize(
    "body",
    [{}, {"user_id": ""}, {"user_id": "a" * 257}, {"user_id": 1}, {"user_id": "a\0"}, []],
)
def test_what_is_no_subject_is_refused(client: ApiClient, app: App, body: object) -> None:
    assert client.post("erasures", body).status == 422
    assert Erasure.objects.count() == 0


def test_a_subject_in_a_batch_is_rejected_and_the_rest_is_stored(
    client: ApiClient, app: App
) -> None:
    client.post("erasures", {"user_id": "jane"})

    answer = client.post(
        "sessions/batch",
        {"items": [make_body(user_id="jane"), make_body(user_id="john")]},
    )

    assert [one["status"] for one in answer.body["results"]] == ["rejected", "created"]
    assert answer.body["results"][0]["errors"][0]["code"] == "subject_erased"
