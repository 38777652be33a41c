"""Every address of the console, for every role, another app's member, and nobody at all.

The addresses come from the URL configuration, so that a new page cannot be forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from curation.access import RIGHTS, Right
from curation.incidents.legal_holds import place_hold
from curation.incidents.working import open_incident
from curation.models import Alarm, AlarmKind, Incident, IncidentLink, IncidentPerson
from episodes import audit, lifecycle
from episodes.accounts.invitations import invite_person
from episodes.enums import HoldKind, Role
from episodes.erasure.request import request_erasure
from episodes.erasure.run import run_erasures
from episodes.members import add_member
from episodes.models import App, AuditEntry, Episode, Erasure
from episodes.toolsets import declare_toolset
from tests.curation.cast import make_member, make_user, sign_in
from tests.curation.poison.poisoned import make_containment, make_flag
from tests.curation.promotion.scene import make_lesson, make_proposal
from tests.curation.recalls import make_recall
from tests.factories import ACTOR, make_app, make_episode, make_key


def of_the_console(
    patterns: list[URLPattern | URLResolver], inside: bool = False
) -> Iterator[URLPattern]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            mine = inside or pattern.app_name == "curation"
            yield from of_the_console(pattern.url_patterns, mine)
        elif inside:
            yield pattern


def guarded() -> dict[str, Right]:
    """Return the right that each address of an app asks for."""
    return {
        f"curation:{pattern.name}": pattern.callback.right
        for pattern in of_the_console(get_resolver().url_patterns)
        if hasattr(pattern.callback, "right")
    }


OPEN = {
    "curation:sign-in",
    "curation:sign-in-code",
    "curation:sign-in-provider",
    "curation:sign-in-back",
    "curation:sign-out",
    "curation:invitation",
}
INSTALLATION = {
    f"curation:{pattern.name}"
    for pattern in of_the_console(get_resolver().url_patterns)
    if hasattr(pattern.callback, "of_the_installation")
}
PERSONAL = {
    "curation:home",
    "curation:app-list",
    "curation:preferences",
    "curation:preferences-password",
    "curation:preferences-factor",
    "curation:preferences-factor-qr",
    "curation:preferences-provider",
    "curation:keys",
}


def thing(name: str, app: App, episode: Episode) -> object:
    """Return something of the app, or of its episode, that an address can name."""
    match name:
        case "app_name":
            return app.name
        case "recall_id":
            return UUID(make_recall(app))
        case "flag_id":
            return make_flag(app).id
        case "containment_id":
            return make_containment(app).id
        case "toolset_id":
            return declare_toolset(app=app, tools=[], actor=ACTOR)[0].id
        case "key_id":
            return make_key(app)[0].id
        case "member_id":
            return add_member(
                app=app, user=make_user(f"member-{uuid4()}"), role=Role.VIEWER, actor=ACTOR
            ).pk
        case "invitation_id":
            return invite_person(app=app, name="ben", role=Role.VIEWER, actor=ACTOR)[0].pk
        case "precedent_id":
            return make_proposal(app).id
        case "lesson_id":
            return make_lesson(app).id
        case "incident_id":
            return incident_of(app).id
        case "erasure_id":
            return erased(app).pk
        case "person_id":
            incident = incident_of(app)
            named = {"app": app, "incident": incident, "removed_at": None}
            return IncidentPerson.objects.get_or_create(**named, defaults={"name": "ruth"})[0].id
        case "link_id":
            incident = incident_of(app)
            named = {"app": app, "incident": incident, "removed_at": None}
            told = {"kind": "block", "target_id": "b"}
            return IncidentLink.objects.get_or_create(**named, defaults=told)[0].id
        case "entry_id":
            return AuditEntry.objects.filter(app=app).latest("at").id
        case "hold_id":
            return place_hold(
                app=app, kind=HoldKind.SUBJECT, target_id="user-1", reason="r", actor=ACTOR
            ).id
        case "block_id":
            return lifecycle.block_episode(episode=episode, kind="held", actor=ACTOR).id
        case "alarm_id":
            return Alarm.objects.get_or_create(
                app=episode.app,
                episode=episode,
                user_id=episode.user_id,
                kind=AlarmKind.RETRIEVAL_SHARE,
                closed_at=None,
            )[0].id
    raise AssertionError(f"teach this test to make a {name}")


def erased(app: App) -> Erasure:
    """A verified one, which every address of an erasure can show."""
    found = Erasure.objects.filter(app=app).first()
    if found is None:
        found = request_erasure(app=app, user_id="erased", actor=ACTOR)
        run_erasures()
    return found


def incident_of(app: App) -> Incident:
    """The one that every address of an incident is about."""
    found = Incident.objects.filter(app=app).first()
    return found or open_incident(app=app, title="Found", description="So.", actor=ACTOR)


def arguments_of(name: str) -> frozenset[str]:
    """Return what the address of a name has to be told."""
    found = get_resolver("curation.urls").reverse_dict.getlist(name.removeprefix("curation:"))
    [arguments] = {frozenset(names) for _, names in found[0][0]}
    return arguments


def address(name: str, app: App, episode: Episode, **made: object) -> str:
    """Return the address of a name. `made` are things of the app by their name in it."""
    made["episode_id"] = episode.id
    arguments = arguments_of(name)
    named = {one: made[one] if one in made else thing(one, app, episode) for one in arguments}
    return reverse(name, kwargs=named)


def test_every_address_is_guarded_or_known_to_be_open() -> None:
    names = {f"curation:{p.name}" for p in of_the_console(get_resolver().url_patterns)}

    assert names == guarded().keys() | OPEN | PERSONAL | INSTALLATION


REFUSED = {403, 404}


@pytest.fixture
def ask(app: App) -> Callable[[Client, str], int]:
    """Return the status of an address; one that only takes a POST gets an empty one."""
    episode = make_episode(app)

    def status(client: Client, name: str) -> int:
        path = address(name, app, episode)
        answer = client.get(path)
        return client.post(path).status_code if answer.status_code == 405 else answer.status_code

    return status


@pytest.mark.parametrize("role", Role.values)
def test_a_role_opens_what_its_rights_say(
    app: App, ask: Callable[[Client, str], int], role: str
) -> None:
    client = sign_in(make_member(app, role))

    statuses = {name: ask(client, name) for name in guarded()}

    opened = {name for name, status in statuses.items() if status not in REFUSED}
    assert opened == {name for name, right in guarded().items() if right in RIGHTS[Role(role)]}
    assert {status for status in statuses.values() if status >= 500} == set()


@pytest.mark.parametrize("role", ["superuser", *Role.values])
def test_the_installation_is_the_superusers(app: App, role: str) -> None:
    is_root = role == "superuser"
    user = User.objects.create_superuser("root") if is_root else make_member(app, role)
    client = sign_in(user)
    make_user_entry()
    paths = [address_of_installation(name) for name in sorted(INSTALLATION)]

    answers = [client.get(path).status_code for path in paths]

    assert len(paths) >= 4
    # 405: an address that only takes a POST
    assert set(answers) == ({200, 405} if is_root else {404, 405})


def make_user_entry() -> AuditEntry:
    with transaction.atomic():
        return audit.record(
            actor=ACTOR, verb="account.made", target_kind="account", target_id=1, app=None
        )


def address_of_installation(name: str) -> str:
    if name == "curation:account-change":
        somebody = make_user(f"somebody-{uuid4()}")
        return reverse(name, kwargs={"account_id": somebody.pk, "act": "sessions"})
    if name.endswith("-entry"):
        return reverse(
            name, kwargs={"entry_id": AuditEntry.objects.filter(app=None).latest("at").id}
        )
    return reverse(name)


def test_another_apps_member_finds_nothing(app: App, ask: Callable[[Client, str], int]) -> None:
    client = sign_in(make_member(make_app("other-agent"), Role.COMPLIANCE))

    assert {ask(client, name) for name in guarded()} == {404}


def test_a_stranger_is_asked_to_sign_in(app: App, ask: Callable[[Client, str], int]) -> None:
    assert {ask(Client(), name) for name in guarded()} == {302}
    for name in PERSONAL:
        answer = Client().get(reverse(name))
        assert answer.headers["Location"].startswith("/sign-in/?next="), name


def test_another_apps_episode_is_not_found(app: App) -> None:
    foreign = make_episode(make_app("other-agent"), session_id="foreign-session")
    client = sign_in(make_member(app, Role.CURATOR))
    paths = [address(name, app, foreign) for name in guarded()]
    of_an_episode = [path for path in paths if str(foreign.id) in path]

    answers = {path: client.post(path) for path in of_an_episode}
    answers |= {
        path: client.get(path) for path, answer in answers.items() if answer.status_code == 405
    }

    assert len(of_an_episode) >= 4
    assert {path for path, answer in answers.items() if answer.status_code not in REFUSED} == set()
