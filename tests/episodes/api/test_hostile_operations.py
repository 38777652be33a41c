"""Every operation of the API with hostile ids in every place of one: never a neighbour's row, neither
in an answer nor changed.

Operations and places come from the OpenAPI document, so that a new one cannot be forgotten: it has to
be given a request here first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import quote
from uuid import UUID

import orjson
import pytest
from django.apps import apps
from django.db import connection, transaction
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from episodes.embedding.pipeline import embed_due
from episodes.enums import Outcome
from episodes.erasure.request import request_erasure
from episodes.erasure.run import run_erasures
from episodes.feedback import record_feedback
from episodes.keys.subject_tokens import sign_subject, signing_secret
from episodes.late_outcomes import report_outcome
from episodes.models import App, Episode, Erasure, Recall
from episodes.toolset_hash import Tool
from episodes.toolsets import declare_toolset
from memoryadmin.lib import clock
from tests.episodes.api.client import ApiClient
from tests.episodes.api.test_hostile_ids import NEIGHBOURS
from tests.factories import ACTOR, GOAL, make_app, make_body, make_episode, make_key

CANARY = "canaryfinch"
IDS = re.compile(r"\w+_id|episode_key|(toolset_)?version")
TRICKY = [
    "use",
    "user1%",
    "user_",
    "%",
    "*",
    "a/b|c",
    "a/b/c",
    "a/",
    "USER1",
    "user1 ",
    " user1",
    "user1\u200b",
    "e\u0301lodie",
    "' OR '1'='1",
    "\\",
    "null",
    "🦊" * 256,
    "x" * 257,
    "user1\0",
]
OWN: dict[str, Any] = {"user_id": "own", "session_id": "own-session", "episode_key": "own-key"}
ABOUT = {name: OWN[name] for name in ("user_id", "session_id")}
SESSION = make_body(**OWN, agent_id="own-agent", task_id="own-task")
EPISODE, RECALLS = "/episodes/{episode_id}", "/episodes/{episode_id}/recalls"

Operation = tuple[str, str]  # method, path

# A request with an id in each place that takes one; what the path names is taken from the same object.
REQUESTS: dict[Operation, dict[str, Any]] = {
    ("post", "/sessions"): SESSION,
    ("post", "/sessions/batch"): {"items": [SESSION]},
    ("get", "/sessions/status"): OWN,
    ("post", "/search"): {
        **ABOUT,
        "query": GOAL,
        "invocation_id": "own-invocation",
        "agent_id": "own-agent",
        "toolset_version": "own-tools",
        "filters": {"agent_id": "own-agent", "task_id": "own-task"},
    },
    ("post", "/feedback"): {**ABOUT, "feedback_id": "own-feedback", "rating": "neutral"},
    ("post", "/outcomes"): {**OWN, "outcome": "failure"},
    ("post", "/toolsets"): {"agent_id": "own-agent", "version": "own-next", "tools": ["refund"]},
    ("post", "/toolsets/{version}/retire"): {"version": "own-tools", "agent_id": "own-agent"},
    ("post", "/erasures"): {"user_id": "own"},
    ("get", "/erasures/{erasure_id}"): {"erasure_id": "?"},
    ("delete", "/users/{user_id}"): {"user_id": "own"},
    ("get", EPISODE): {"episode_id": "?", "user_id": "own"},
    ("get", RECALLS): {"episode_id": "?", "user_id": "own"},
    ("get", "/stats"): {"user_id": "own"},
    ("get", "/export"): {**ABOUT, "agent_id": "own-agent", "task_id": "own-task"},
}
ERASING = {("post", "/erasures"), ("delete", "/users/{user_id}")}

Place = tuple[str | int, ...]


def places(request: Any, inside: Place = ()) -> Iterator[Place]:
    """Yield where in a request an id stands."""
    named = request.items() if isinstance(request, dict) else enumerate(request)
    for name, value in named:
        if isinstance(value, dict | list) and name != "session":
            yield from places(value, (*inside, name))
        elif isinstance(name, str) and IDS.fullmatch(name):
            yield (*inside, name)


def with_value(request: dict[str, Any], place: Place, value: str) -> dict[str, Any]:
    changed = deepcopy(request)
    inner: Any = changed
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    return changed


def ids_of(schema: dict[str, Any], components: dict[str, Any]) -> Iterator[str]:
    """Yield the names of ids in a body, at any depth."""
    if "$ref" in schema:
        yield from ids_of(components[schema["$ref"].rpartition("/")[2]], components)
    for inner in schema.get("allOf", ()):
        yield from ids_of(inner, components)
    if "items" in schema:
        yield from ids_of(schema["items"], components)
    for name, inner in schema.get("properties", {}).items():
        if IDS.fullmatch(name):
            yield name
        yield from ids_of(inner, components)


def documented() -> dict[Operation, set[str]]:
    """Return the ids that each operation takes, by the OpenAPI document."""
    document = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    found: dict[Operation, set[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            names = {
                parameter["name"]
                for parameter in operation.get("parameters", ())
                if parameter["in"] in {"path", "query"} and IDS.fullmatch(parameter["name"])
            }
            for content in operation.get("requestBody", {}).get("content", {}).values():
                names |= set(ids_of(content["schema"], document["components"]["schemas"]))
            if names:
                found[method, path.removeprefix("/api/v1")] = names
    return found


def test_every_operation_and_place_of_an_id_is_asked() -> None:
    asked = {
        operation: {str(place[-1]) for place in places(request)}
        for operation, request in REQUESTS.items()
    }

    assert asked == documented()


@dataclass(frozen=True, slots=True)
class Store:
    """`own`: the ids that the subject's own requests name. `theirs`: ids of neighbours and of another
    app, which nobody here may be shown."""

    app: App
    foreign: App
    own: dict[str, str]
    theirs: dict[str, list[str]]


@pytest.fixture
def store(app: App) -> Store:
    """A subject's own rows among neighbours by prefix, pattern, joining and spelling, and another
    app with the very same ids."""
    foreign = make_app("foreign-agent")
    for named in (*NEIGHBOURS, ("own", "own-session")):
        populate(foreign, *named)
    for named in NEIGHBOURS:
        populate(app, *named)
    mine = make_episode(app, **OWN, agent_id="own-agent", task_id="own-task", embedded=True)
    for one in (app, foreign):
        for version in ("user1", "own-tools"):
            agent_id = "own-agent" if version == "own-tools" else "user1"
            declare_toolset(
                app=one, agent_id=agent_id, version=version, tools=[Tool("refund")], actor=ACTOR
            )
    erasures = [
        request_erasure(app=one, user_id=user_id, actor=ACTOR)
        for one, user_id in ((app, "gone"), (app, "gone10"), (foreign, "gone"))
    ]
    run_erasures()
    hidden = Episode.objects.exclude(id=mine.id).values_list("id", flat=True)
    return Store(
        app=app,
        foreign=foreign,
        own={"episode_id": str(mine.id), "erasure_id": str(erasures[0].pk)},
        theirs={
            "episode_id": [str(one) for one in hidden],
            "erasure_id": [str(one.pk) for one in erasures[1:]],
            "recall_id": [str(one) for one in Recall.objects.values_list("id", flat=True)],
        },
    )


def populate(app: App, user_id: str, session_id: str) -> None:
    about: dict[str, Any] = {"user_id": user_id, "session_id": session_id}
    make_episode(app, goal=f"{GOAL} {CANARY}", agent_id="own-agent", task_id="own-task", **about)
    embed_due(app=app)
    record_feedback(app=app, actor=ACTOR, rating="negative", comment=CANARY, **about)
    report_outcome(app=app, actor=ACTOR, outcome=Outcome.SUCCESS, **about)
    api = ApiClient(make_key(app)[1])
    assert api.post("search", {**about, "query": f"{GOAL} {CANARY}"}).status == 200


def send(
    raw: str, operation: Operation, request: dict[str, Any], token: str = ""
) -> tuple[int, str]:
    """Return the status and the whole answer as text."""
    method, path = operation
    left = dict(request)
    for name in re.findall(r"{(\w+)}", path):
        path = path.replace(f"{{{name}}}", quote(left.pop(name), safe=""))
    query = "" if method == "post" else "&".join(f"{n}={quote(v)}" for n, v in left.items())
    headers = {"Authorization": f"Bearer {raw}"}
    answer = Client().generic(
        method.upper(),
        f"/api/v1{path}?{query}",
        orjson.dumps(left) if method == "post" else b"",
        content_type="application/json",
        headers={**headers, "X-Subject-Token": token} if token else headers,
    )
    streamed = getattr(answer, "streaming_content", None)
    told = answer.content if streamed is None else b"".join(streamed)
    return answer.status_code, told.decode()


def filled(store: Store, operation: Operation) -> dict[str, Any]:
    request = REQUESTS[operation]
    return {name: store.own.get(name, v) if v == "?" else v for name, v in request.items()}


def rows_of_others(store: Store) -> dict[str, list[str]]:
    """Return every row of the other app, and of the neighbours, as text by table."""
    found = {}
    for model in apps.get_models():
        columns = {field.column for field in model._meta.concrete_fields}
        if "app_id" not in columns:
            continue
        theirs = "app_id = %(app)s"
        if "user_id" in columns and model._meta.label != "episodes.Member":
            theirs += " OR user_id = ANY(%(users)s)"
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT to_jsonb(t)::text FROM {model._meta.db_table} t"  # noqa: S608  (our names)
                f" WHERE {theirs} ORDER BY 1",
                {"app": store.foreign.pk, "users": [user_id for user_id, _ in NEIGHBOURS]},
            )
            found[model._meta.label] = [row for (row,) in cursor.fetchall()]
    return found


def shown(store: Store, told: str) -> list[str]:
    """Return what of somebody else an answer tells."""
    hidden = [CANARY, *(one for ids in store.theirs.values() for one in ids)]
    return [one for one in hidden if one in told]


def foreign_ids(store: Store, name: str) -> list[str]:
    own = UUID(store.own[name])
    made_up = [str(UUID(int=own.int ^ 1)), str(own)[:-1], f"{own}%", f"{own}0", "%", "_", "\0"]
    of_the_other_app = (Episode if name == "episode_id" else Erasure).objects.filter(
        app=store.foreign
    )
    return [*made_up, *(str(one) for one in of_the_other_app.values_list("pk", flat=True)[:3])]


def each_undone(store: Store) -> Iterator[tuple[Operation, dict[str, Any]]]:
    """Yield every operation with its request; what one wrote is gone before the next. To make the
    store anew for each would take minutes."""
    for operation in REQUESTS:
        with transaction.atomic():
            yield operation, filled(store, operation)
            transaction.set_rollback(True)


def erase_what_was_asked(operation: Operation) -> None:
    if operation in ERASING:
        while run_erasures():
            pass
        assert {one.status for one in Erasure.objects.all()} == {"verified"}


def test_the_requests_themselves_are_accepted(store: Store) -> None:
    """Else the others would be refused for something else than their id."""
    raw = make_key(store.app)[1]

    for operation, request in each_undone(store):
        status, told = send(raw, operation, request)

        assert status in {200, 201, 202}, (operation, told)
        assert shown(store, told) == [], operation


def test_a_hostile_id_shows_and_changes_nothing_of_a_neighbour(store: Store) -> None:
    raw = make_key(store.app)[1]
    before = rows_of_others(store)

    for operation, request in each_undone(store):
        for place in places(request):
            name = str(place[-1])
            for value in foreign_ids(store, name) if name in store.own else TRICKY:
                status, told = send(raw, operation, with_value(request, place, value))

                assert status < 500, (operation, place, value)
                assert shown(store, told) == [], (operation, place, value)
        erase_what_was_asked(operation)
        assert rows_of_others(store) == before, operation


def test_a_signed_subject_reaches_no_neighbour_by_its_very_id(store: Store) -> None:
    key, raw = make_key(store.app, demands_subject_token=True)
    in_an_hour = clock.now() + timedelta(hours=1)
    token = sign_subject(secret=signing_secret(key.pk), user_id="own", expires_at=in_an_hour)
    names = sorted({one for named in NEIGHBOURS for one in named})
    before = rows_of_others(store)

    for operation, request in each_undone(store):
        for place in places(request):
            name = str(place[-1])
            for value in store.theirs.get(name, names):
                changed = with_value(request, place, value)
                status, told = send(raw, operation, changed, token)

                is_refused = status in {403, 404} or '"rejected"' in told
                assert is_refused or name not in {"user_id", *store.theirs}, (operation, value)
                assert shown(store, told) == [], (operation, place, value)
        erase_what_was_asked(operation)
        assert rows_of_others(store) == before, operation


def test_half_a_surrogate_pair_is_no_id(store: Store) -> None:
    """JSON can spell one, UTF-8 cannot, and it must not become another id on the way."""
    raw, about = make_key(store.app)[1], '"session_id": "session", "rating": "neutral"'
    before = rows_of_others(store)

    for half in (r"\ud83e", r"user1\udd8a", r"\udd8a\ud83e"):
        answer = ApiClient(raw).post("feedback", f'{{"user_id": "{half}", {about}}}'.encode())
        assert answer.status in {400, 422}, half
    for half in ("%ED%A0%BE", "user1%ED%B6%8A"):
        assert ApiClient(raw).get(f"stats?user_id={half}").status == 400
    assert rows_of_others(store) == before
