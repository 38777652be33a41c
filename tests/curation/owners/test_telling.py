"""Telling an app's owner: signed, tried again by rows, and never into a private network."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from curation.models import Incident, IncidentEvent, IncidentNotice
from curation.owners import outward
from curation.owners.hooks import (
    AlreadyAskedError,
    NoHookError,
    ask_to_tell,
    hook_of,
    set_hook,
    signing_secret,
)
from curation.owners.telling import ATTEMPTS, tell_owners
from episodes.applications import NothingChangedError, SettingsChangedError
from episodes.models import App, AuditEntry
from memoryadmin.lib import clock
from tests.curation.incidents.test_working import make_incident
from tests.curation.recalls import make_recall
from tests.factories import ACTOR, make_episode


@dataclass
class Receiver:
    """A server that notes what it is sent, and answers with `status`."""

    url: str = ""
    status: int = 204
    location: str = ""
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.HOOKS_PRIVATE = True
    known = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            known.got.append((dict(self.headers), self.rfile.read(length)))
            self.send_response(known.status)
            if known.location:
                self.send_header("Location", known.location)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    known.url = f"http://localhost:{server.server_port}/incidents?app=billing"
    yield known
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def incident(app: App) -> Incident:
    episode = make_episode(app, session_id="run-1", embedded=True)
    make_recall(app, session_id="run-2")
    return make_incident(app, source_kind="episode", source_id=str(episode.id))


def point_to(app: App, url: str) -> None:
    set_hook(app=app, url=url, seen=hook_of(app), actor=ACTOR)


def ask(incident: Incident) -> IncidentNotice:
    return ask_to_tell(incident=incident, actor=ACTOR)


def test_the_owner_is_sent_the_sessions_signed(
    app: App, incident: Incident, receiver: Receiver
) -> None:
    point_to(app, receiver.url)
    notice = ask(incident)

    assert tell_owners() == 1

    [(headers, body)] = receiver.got
    told = json.loads(body)
    assert (told["incident"], told["notice"]) == (str(incident.id), str(notice.id))
    assert [(one["user_id"], one["session_id"]) for one in told["sessions"]] == [
        ("user-1", "run-2")
    ]
    at, _, signature = headers["X-Memoryadmin-Signature"].partition(",")
    secret = signing_secret(app).encode()
    signed = f"{at.removeprefix('t=')}.".encode() + body
    assert signature == f"v1={hmac.new(secret, signed, hashlib.sha256).hexdigest()}"
    assert headers["Host"].startswith("localhost:")
    notice.refresh_from_db()
    assert (notice.attempts, notice.n_sessions, notice.next_attempt_at, notice.sha256) == (
        1,
        1,
        None,
        hashlib.sha256(body).hexdigest(),
    )
    assert IncidentEvent.objects.get(incident=incident, kind="told").detail["sessions"] == 1
    assert AuditEntry.objects.filter(verb="incident.told").count() == 1
    assert tell_owners() == 0


def test_a_failure_is_tried_again_later_and_given_up_in_the_end(
    app: App, incident: Incident, receiver: Receiver
) -> None:
    point_to(app, receiver.url)
    notice = ask(incident)
    receiver.status = 503

    waits = []
    at = clock.now()
    for _ in range(ATTEMPTS):
        with clock.at(at):
            tell_owners()
        notice.refresh_from_db()
        if notice.next_attempt_at is not None:
            waits.append(notice.next_attempt_at - at)
            at = notice.next_attempt_at

    assert waits == [timedelta(minutes=min(2**n, 60)) for n in range(ATTEMPTS - 1)]
    assert (notice.attempts, notice.next_attempt_at, notice.last_error, len(receiver.got)) == (
        ATTEMPTS,
        None,
        "status_503",
        ATTEMPTS,
    )
    assert not IncidentEvent.objects.filter(kind="told").exists()


def test_what_cannot_even_be_said_is_given_up(
    app: App, incident: Incident, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Like a worker that dies of it each time: nothing says how the attempt ended."""
    point_to(app, receiver.url)
    notice = ask(incident)

    def dies(**_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("curation.owners.telling.read_backwards", dies)
    for _ in range(ATTEMPTS):
        notice.refresh_from_db()
        assert notice.next_attempt_at is not None
        with clock.at(notice.next_attempt_at), pytest.raises(MemoryError):
            tell_owners()

    notice.refresh_from_db()
    assert (notice.attempts, notice.next_attempt_at, notice.last_error, receiver.got) == (
        ATTEMPTS,
        None,
        "unfinished",
        [],
    )


def test_a_redirect_is_not_followed(app: App, incident: Incident, receiver: Receiver) -> None:
    point_to(app, receiver.url)
    receiver.status, receiver.location = 302, receiver.url
    notice = ask(incident)

    tell_owners()

    notice.refresh_from_db()
    assert (len(receiver.got), notice.last_error) == (1, "status_302")


def test_one_telling_at_a_time_and_none_without_an_address(
    app: App, incident: Incident, receiver: Receiver
) -> None:
    with pytest.raises(NoHookError):
        ask(incident)
    point_to(app, receiver.url)
    notice = ask(incident)
    with pytest.raises(AlreadyAskedError):
        ask(incident)
    point_to(app, "")
    tell_owners()

    notice.refresh_from_db()
    assert (notice.last_error, notice.next_attempt_at, receiver.got) == ("no_address", None, [])


def resolving(*addresses: str) -> Callable[..., list[Any]]:
    return lambda *args, **kwargs: [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, 443)) for one in addresses
    ]


PRIVATE = [
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",  # noqa: S104
    "224.0.0.1",
    "::1",
    "fe80::1",
    "fc00::1",
    "::ffff:10.0.0.1",
    "2002:0a00:0001::",
    "64:ff9b::a00:1",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_is_never_reached(
    app: App, incident: Incident, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", resolving("93.184.216.34", address))
    point_to(app, "https://owner.example.org/")
    notice = ask(incident)

    tell_owners()

    notice.refresh_from_db()
    assert (notice.last_error, notice.next_attempt_at) == ("private_address", None)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost", "2130706433", "0x7f.1"])
def test_this_machine_is_not_reached_by_any_of_its_names(host: str) -> None:
    with pytest.raises((outward.PrivateAddressError, outward.NotDeliveredError)):
        outward.post(f"http://{host}:9/", body=b"", headers={})


def test_a_host_that_is_not_there_is_tried_again(
    app: App, incident: Incident, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody(*args: object, **kwargs: object) -> None:
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", nobody)
    point_to(app, "https://owner.example.org/")
    notice = ask(incident)

    tell_owners()

    notice.refresh_from_db()
    assert (notice.last_error, notice.next_attempt_at is None) == ("unknown_host", False)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org",
        "javascript:alert(1)",
        "https://",
        "https:///path",
        "https://user:secret@example.org/",
        "https://example.org:99999/",
        "https://[::1/",
        "https://example.org/a b",
        "https://example.org/\r\nX: y",
    ],
)
def test_what_is_no_address_is_refused(app: App, url: str) -> None:
    with pytest.raises(outward.BadAddressError):
        point_to(app, url)


def test_the_address_is_changed_by_one_who_has_seen_it(app: App) -> None:
    point_to(app, "https://one.example.org/")

    with pytest.raises(SettingsChangedError):
        set_hook(app=app, url="https://two.example.org/", seen="", actor=ACTOR)
    with pytest.raises(NothingChangedError):
        point_to(app, "https://one.example.org/")
    point_to(app, "")

    assert hook_of(app) == ""
    assert AuditEntry.objects.filter(app=app, verb="incident_hook.changed").count() == 2


def test_all_of_it_works_with_the_rights_of_the_web(
    app: App,
    incident: Incident,
    receiver: Receiver,
    as_app: Callable[[], AbstractContextManager[None]],
) -> None:
    with as_app():
        point_to(app, receiver.url)
        ask(incident)
        delivered = tell_owners()

    assert delivered == 1
