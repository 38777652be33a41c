"""The common rules of api.md, whatever the noun."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import BytesIO

import orjson
import pytest
from django.test import Client

from episodes.enums import KeyScope
from episodes.keys.issuing import revoke_key
from episodes.models import App, AuditEntry, AuditPayload, Episode
from memoryadmin.lib import clock
from tests.episodes.api.addresses import SOME_ID, every_operation
from tests.episodes.api.client import ApiClient
from tests.factories import ACTOR, make_app, make_body, make_episode, make_key

NOON = datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC)
ABOUT = {"user_id": "user-1", "session_id": "session-1"}

OPERATIONS = list(every_operation())
BODIES = {
    "sessions": make_body(),
    "search": {"user_id": "user-1", "query": "refund"},
    "feedback": ABOUT | {"rating": "positive"},
    "outcomes": ABOUT | {"outcome": "success"},
    "toolsets": {"tools": [{"name": "refund"}]},
}
every_endpoint = pytest.mark.parametrize(("method", "path", "scope"), OPERATIONS)
every_body = pytest.mark.parametrize(("path", "body"), BODIES.items())


def test_every_kind_of_operation_is_among_these() -> None:
    """A reader of addresses that found none would find nothing wrong."""
    assert {scope for _, _, scope in OPERATIONS} == set(KeyScope.values)
    assert {
        ("DELETE", "users/some", "erase"),
        ("GET", "export", "read_all"),
        ("GET", f"erasures/{SOME_ID}", "erase"),
        ("GET", f"episodes/{SOME_ID}/recalls", "read"),
        ("POST", "toolsets/some/retire", "verify"),
    } <= set(OPERATIONS)


@every_endpoint
def test_missing_key_is_401(db: None, method: str, path: str, scope: str) -> None:
    answer = ApiClient(None).request(method, path)

    assert (answer.status, answer.type) == (401, "application/problem+json")
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="api"'
    assert answer.body == {
        "type": "urn:memoryadmin:problem:not_authenticated",
        "title": "Unauthorized",
        "status": 401,
        "detail": "An API key is needed: Authorization: Bearer.",
        "errors": [
            {
                "pointer": "",
                "code": "not_authenticated",
                "detail": "An API key is needed: Authorization: Bearer.",
            }
        ],
    }


@every_endpoint
def test_bad_key_is_401(db: None, method: str, path: str, scope: str) -> None:
    answer = ApiClient("mem_abcdefghijkl_" + "x" * 43).request(method, path)

    assert (answer.status, answer.errors) == (401, [("", "invalid_key")])


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer a b", "Basic {key}", "{key}", "Bearer "])
def test_other_authorization_is_401(app: App, header: str) -> None:
    key = make_key(app)[1]

    answer = ApiClient(None).get("stats", Authorization=header.format(key=key))

    assert answer.status == 401


def test_scheme_is_case_insensitive(app: App) -> None:
    answer = ApiClient(None).get("stats", Authorization=f"bearer {make_key(app)[1]}")

    assert answer.status == 200


@every_endpoint
def test_missing_scope_is_403(app: App, method: str, path: str, scope: str) -> None:
    others = [name for name in KeyScope.values if name != scope]

    answer = ApiClient(make_key(app, *others)[1]).request(method, path)

    assert (answer.status, answer.errors) == (403, [("", "missing_scope")])


@every_endpoint
def test_its_scope_alone_suffices(app: App, method: str, path: str, scope: str) -> None:
    answer = ApiClient(make_key(app, scope)[1]).request(method, path)

    assert answer.status in {200, 202, 400, 404, 422}


@every_endpoint
def test_other_method_is_405(client: ApiClient, method: str, path: str, scope: str) -> None:
    own = {one.method for one in OPERATIONS if one.path == path}
    for other in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} - own:
        answer = client.request(other, path)

        assert (answer.status, answer.errors) == (405, [("", "method_not_allowed")]), other
        assert method in answer.headers["Allow"]


@pytest.mark.parametrize("path", ["", "nothing", "sessions/", "search/x", "episodes", "episodes/1"])
def test_unknown_address_is_404(client: ApiClient, path: str) -> None:
    for someone in (client, ApiClient(None)):
        for method in ("GET", "POST"):
            answer = someone.request(method, path)

            assert (answer.status, answer.type) == (404, "application/problem+json")
            assert answer.errors == [("", "not_found")]


def test_expired_key_is_401(app: App) -> None:
    client = ApiClient(make_key(app, expires_at=NOON)[1])

    with clock.at(NOON - timedelta(seconds=1)):
        assert client.get("stats").status == 200
    with clock.at(NOON):
        assert client.get("stats").status == 401


def test_revoked_key_is_401_at_its_next_request(app: App) -> None:
    key, raw = make_key(app)
    client = ApiClient(raw)
    assert client.get("stats").status == 200

    revoke_key(key=key, actor=ACTOR)

    assert client.get("stats").status == 401


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"nonsense",
        b'{"user_id": NaN}',
        b'{"score": Infinity}',
        b'{"score": 1e999}',
        b'{"user_id": "\\ud800"}',
        b'{"user_id": "\xff"}',
        b"\xef\xbb\xbf{}",
        b"[" * 100 + b"]" * 100,
        b"[" * 100_000,
        b'{"a":' * 2_000 + b"1" + b"}" * 2_000,
    ],
)
@pytest.mark.parametrize("path", BODIES)
def test_unparsable_body_is_400(client: ApiClient, path: str, body: bytes) -> None:
    answer = client.post(path, body)

    assert (answer.status, answer.type) == (400, "application/problem+json")
    assert answer.errors in ([("", "unparsable")], [("", "too_deep")])


@pytest.mark.parametrize("body", [[], "text", 1, None, True, [{}]])
@pytest.mark.parametrize("path", [*BODIES, "sessions/batch"])
def test_body_that_is_no_object_is_422(client: ApiClient, path: str, body: object) -> None:
    assert client.post(path, body).status == 422


@every_body
def test_each_required_member_is_named(
    client: ApiClient, path: str, body: dict[str, object]
) -> None:
    answer = client.post(path, {})

    assert answer.status == 422
    assert answer.errors == [(f"/{name}", "required") for name in body]


@pytest.mark.parametrize("member", ["user_id", "session_id"])
@pytest.mark.parametrize("value", ["", "x" * 257, "a\0b", 7, None, [], {}, True])
@pytest.mark.parametrize("path", ["sessions", "feedback", "outcomes"])
def test_bad_id_is_422(client: ApiClient, path: str, member: str, value: object) -> None:
    answer = client.post(path, BODIES[path] | {member: value})

    assert answer.status == 422
    assert [pointer for pointer, _ in answer.errors] == [f"/{member}"]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("2026-03-01T12:00:00", "naive"),
        ("2026-03-01", "naive"),
        ("yesterday", "invalid"),
        ("2026-13-01T12:00:00Z", "invalid"),
        ("0001-01-01T00:00:00+14:00", "invalid"),
        ("2026-01-01T00:00:00\0Z", "invalid"),
        ("2026-01-01T00:00:00XZ", "invalid"),
        ("2026-01-01T00:00:00.Z", "invalid"),
        ("2026-01-01T00:00:00Z\n", "invalid"),
        (1_772_366_400, "invalid"),
        (True, "invalid"),
        ("", "invalid"),
    ],
)
def test_time_without_offset_is_422(client: ApiClient, value: object, code: str) -> None:
    for path, member in (("sessions", "completed_at"), ("feedback", "at")):
        answer = client.post(path, BODIES[path] | {member: value})

        assert (answer.status, answer.errors) == (422, [(f"/{member}", code)])


def test_errors_repeat_nothing_that_was_sent(client: ApiClient) -> None:
    secret = "hunter2-hunter2"

    for path, member in (
        ("sessions", "format"),
        ("sessions", "outcome"),
        ("sessions", "toolset"),
        ("sessions", "started_at"),
        ("sessions", "score"),
        ("search", "scope"),
        ("search", "limit"),
        ("search", "filters"),
        ("search", "explain"),
        ("feedback", "rating"),
    ):
        answer = client.post(path, BODIES[path] | {member: secret})

        assert answer.status == 422, (path, member)
        assert secret not in orjson.dumps(answer.body).decode(), (path, member)


@every_body
def test_refused_request_stores_nothing(
    client: ApiClient, path: str, body: dict[str, object]
) -> None:
    before = AuditEntry.objects.count()

    answer = client.post(path, body | {"user_id": "a\0b", "tools": []})

    assert answer.status == 422
    assert (AuditEntry.objects.count(), Episode.objects.count()) == (before, 0)


@every_body
def test_body_may_repeat_the_keys_app(
    client: ApiClient, app: App, path: str, body: dict[str, object]
) -> None:
    make_episode(app, user_id="user-1", session_id="session-1")
    make_app("other-agent")

    assert client.post(path, body | {"app": app.name}).status in {200, 201}
    for name in ("other-agent", "no-such-app", ""):
        refused = client.post(path, body | {"app": name})
        assert refused.status in {404, 422}, name


@pytest.mark.parametrize(
    ("path", "query"), [("sessions/status", ABOUT), ("stats", {"user_id": "user-1"})]
)
def test_query_may_repeat_the_keys_app(
    client: ApiClient, app: App, path: str, query: dict[str, str]
) -> None:
    make_episode(app, user_id="user-1", session_id="session-1")

    assert client.get(path, query | {"app": app.name}).status == 200
    assert client.get(path, query | {"app": "other-agent"}).status == 404


def test_too_large_body_is_413(client: ApiClient) -> None:
    answer = client.post("sessions", b" " * (5 * 1024**2 + 1))

    assert (answer.status, answer.errors) == (413, [("", "too_large")])


@pytest.mark.parametrize(
    ("path", "declared", "is_read"),
    [("sessions", 6 * 1024**2, True), ("outcomes", 6 * 1024**2, True), ("sessions", 2**40, False)],
)
def test_refused_request_is_read_to_its_end_within_reason(
    app: App, path: str, declared: int, is_read: bool
) -> None:
    """Or else the server closes the connection on a client that is still writing."""
    stream = BytesIO(b"x" * 6 * 1024**2)
    environment = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": f"/api/v1/{path}",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(declared),
        "HTTP_AUTHORIZATION": f"Bearer {make_key(app, 'ingest')[1]}",
        "wsgi.input": stream,
    }

    response = Client().request(**environment)

    assert response.status_code == (403 if path == "outcomes" else 413)
    assert (stream.read() == b"") == is_read


def test_other_media_type_is_415(client: ApiClient) -> None:
    answer = Client().post(
        "/api/v1/search",
        "user_id=user-1&query=refund",
        content_type="application/x-www-form-urlencoded",
        headers={"Authorization": f"Bearer {client.key}"},
    )

    assert (answer.status_code, answer["Content-Type"]) == (415, "application/problem+json")


def test_compressed_body_is_415(client: ApiClient) -> None:
    answer = client.post("search", BODIES["search"], Content_Encoding="gzip")

    assert (answer.status, answer.errors) == (415, [("", "content_encoding")])


def test_body_without_a_length_is_411(client: ApiClient) -> None:
    answer = client.request("POST", "search", Transfer_Encoding="chunked")

    assert (answer.status, answer.errors) == (411, [("", "length_required")])


def test_last_of_repeated_members_counts(client: ApiClient, app: App) -> None:
    body = orjson.dumps(make_body()).replace(b"{", b'{"user_id": "somebody else", ', 1)

    assert client.post("sessions", body).status == 201
    assert Episode.objects.get(app=app).user_id == "user-1"


def test_answers_are_not_cached_and_carry_a_request_id(client: ApiClient) -> None:
    first, second = client.get("stats"), client.get("stats", X_Request_Id="trace-1")

    assert first.headers["Cache-Control"] == "no-store"
    assert len(first.headers["X-Request-Id"]) == len(second.headers["X-Request-Id"]) == 36
    assert first.headers["X-Request-Id"] != second.headers["X-Request-Id"]


@pytest.mark.parametrize(("sent", "kept"), [("trace-1.a_B", True), ("<tags>", False), ("", False)])
def test_request_ids_and_key_stand_in_the_audit(
    client: ApiClient, app: App, sent: str, kept: bool
) -> None:
    answer = client.post("sessions", make_body(), X_Request_Id=sent)

    entry = AuditEntry.objects.get(app=app, verb="episode.created")
    payload = AuditPayload.objects.get(entry_id=entry.id).payload
    assert entry.request_id == answer.headers["X-Request-Id"]
    # what the caller calls it may be about a subject, so it lies where it can be erased
    assert payload.get("sent_request_id") == (sent if kept else None)
    assert entry.actor_kind == "key"
    assert entry.key_prefix == (client.key or "").split("_")[1]
    assert entry.actor == f"key {entry.key_prefix}"


@pytest.mark.parametrize("path", ["sessions", "sessions/batch", "search", "feedback", "erasures"])
def test_no_body_is_400(client: ApiClient, path: str) -> None:
    answer = client.post(path)

    assert (answer.status, answer.errors) == (400, [("", "unparsable")])


@pytest.mark.parametrize("path", ["schema/", "docs/"])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_the_documents_answer_other_methods_with_a_problem(
    client: ApiClient, path: str, method: str
) -> None:
    answer = client.request(method, path)

    assert (answer.status, answer.type) == (405, "application/problem+json")
    assert answer.errors == [("", "method_not_allowed")]
    assert answer.headers["Allow"] == "GET, HEAD"


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v2/search", "/v1/metrics", "/v1/schema"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_every_address_below_api_that_is_none_is_a_problem(
    client: ApiClient, path: str, method: str
) -> None:
    for key in (client.key, None):
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        answer = Client().generic(method, f"/api{path}", headers=headers)

        assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")


def test_an_address_that_only_begins_like_the_api_is_the_consoles(db: None) -> None:
    assert Client().get("/apis").headers["Content-Type"].startswith("text/html")
