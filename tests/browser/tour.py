"""Every page of the console, by a name and the address it has in a store of sample.py."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib.auth.models import User

from curation.models import Containment, Flag
from episodes.models import (
    ApiKey,
    App,
    AuditEntry,
    AuditPayload,
    Episode,
    Member,
    Recall,
    RecallHit,
    Toolset,
)
from tests.browser.erasures import erasures_of
from tests.browser.incidents import looked_into
from tests.browser.promotions import lesson_of, precedent_of
from tests.browser.sample_keys import used_key


@dataclass(frozen=True, slots=True)
class Stop:
    name: str
    path: str


def stops(app: App) -> Iterator[Stop]:
    """Yield what somebody who may see everything can open."""
    home = f"/apps/{app.name}"
    yield Stop("overview", f"{home}/")
    yield Stop("episodes", f"{home}/episodes/")
    yield Stop(
        "episodes-filtered",
        f"{home}/episodes/?outcome=failure&outcome=escalated&tool=refund&error=APPROVAL_REQUIRED",
    )
    yield Stop("episodes-none", f"{home}/episodes/?q=nothing+like+this&user_id=nobody")
    yield Stop("episodes-wrong", f"{home}/episodes/?outcome=excellent&since=yesterday")
    for name, session in (
        ("disputed", "run-dispute"),
        ("revised", "run-revised"),
        ("hostile", "run-hostile"),
        ("long", "run-long"),
    ):
        found = Episode.objects.get(app=app, session_id=session)
        yield Stop(f"episode-{name}", f"{home}/episodes/{found.id}/")
        if name == "revised":
            yield Stop("episode-revisions", f"{home}/episodes/{found.id}/revisions/")
        if name == "disputed":
            yield Stop("episode-history", f"{home}/episodes/{found.id}/history/")
    hit = RecallHit.objects.filter(app=app, rank=1).order_by("recalled_at").first()
    if hit is not None:
        yield Stop("episode-usual", f"{home}/episodes/{hit.episode_id}/")
        yield Stop("episode-recalls", f"{home}/episodes/{hit.episode_id}/recalls/")
    yield from _of_the_desk(app, home)
    yield from _of_poison(app, home)
    yield from _of_trust(app, home)
    yield from _of_incidents(app, f"{home}/incidents")
    yield Stop("holds", f"{home}/holds/")
    yield Stop("settings-retention-due", f"{home}/settings/retention/?due=now")
    yield from _of_promotion(app, f"{home}/promotion")
    yield from _of_erasures(app, f"{home}/erasures")
    yield from _of_the_audit(app, f"{home}/audit")
    yield Stop("apps", "/apps/")
    yield Stop("preferences", "/preferences/")
    yield Stop("second-factor", "/preferences/second-factor/")
    yield from _of_accounts()
    yield Stop("keys", "/keys/")
    yield Stop("missing", f"{home}/nowhere/")


def _of_accounts() -> Iterator[Stop]:
    yield Stop("accounts", "/accounts/")
    somebody = User.objects.get(username="noor.haddad")
    yield Stop("account-deactivate", f"/accounts/{somebody.pk}/deactivate/")
    yield Stop("invitation-over", "/invitations/not-a-link/")


def _of_the_desk(app: App, home: str) -> Iterator[Stop]:
    """The queue, the recall log and the settings."""
    yield Stop("queue", f"{home}/queue/")
    yield Stop("queue-narrowed", f"{home}/queue/?why=contradicted")
    yield Stop("queue-none", f"{home}/queue/?why=changed")
    for name in ("hostile", "long", "dispute"):
        found = Episode.objects.get(app=app, session_id=f"run-{name}")
        yield Stop(f"queue-{name}", f"{home}/queue/{found.id}/")
    yield Stop("recalls", f"{home}/recalls/")
    yield Stop("recalls-narrowed", f"{home}/recalls/?user_id=cus_0001&arm=none&since=2020-01-01")
    yield Stop("recalls-none", f"{home}/recalls/?session_id=nothing")
    yield Stop("recalls-wrong", f"{home}/recalls/?episode=x")
    recalls = Recall.objects.filter(app=app)
    for name, recall in (
        ("recall", recalls.order_by("-n_hits", "-candidates").first()),
        ("recall-empty", recalls.order_by("n_hits", "candidates").first()),
    ):
        if recall is not None:
            yield Stop(name, f"{home}/recalls/{recall.id}/")
    for name in (
        *("arguments", "ranking", "retention", "toolsets", "api-keys", "members", "export"),
    ):
        yield Stop(f"settings-{name}", f"{home}/settings/{name.removeprefix('api-')}/")
    tried = {"success": 1, "partial": 3, "failure": 0.6, "escalated": 2, "unknown": 0.4}
    tried |= {"abandoned": 0.3, "toolset_current": 1, "toolset_other": 0.3, "toolset_unknown": 0.7}
    tried |= {"identifier_weight": 0.9, "text_weight": 0.5, "text_minimum": 0.25}
    tried |= {"decay_days": 30, "max_results": 3, "window": 20000}
    yield Stop("settings-preview", f"{home}/settings/ranking/?{urlencode(tried)}")
    yield Stop("settings-wrong", f"{home}/settings/ranking/?success=20&window=none")
    key = ApiKey.objects.filter(app=app)[0]
    yield Stop("settings-revoke", f"{home}/settings/keys/{key.id}/revoke/")
    yield Stop("settings-key", f"{home}/settings/keys/{used_key(app).id}/")
    yield Stop("settings-rotate", f"{home}/settings/keys/{key.id}/rotate/")
    member = Member.objects.filter(app=app)[0]
    yield Stop("settings-remove", f"{home}/settings/members/{member.pk}/remove/")
    toolset = Toolset.objects.filter(app=app)[0]
    yield Stop("settings-retire", f"{home}/settings/toolsets/{toolset.id}/retire/")


def _of_poison(app: App, home: str) -> Iterator[Stop]:
    yield Stop("poison", f"{home}/poison/")
    yield Stop("poison-lifted", f"{home}/poison/?state=lifted")
    flags = {flag.reason: flag for flag in Flag.objects.filter(app=app).order_by("-flagged_at")}
    spread = Containment.objects.filter(app=app).order_by("blocked_at")[0]
    for name, flag in (
        ("spread", spread.flag),
        ("lifted", flags["mislabelled"]),
        ("hostile", Flag.objects.get(app=app, note__startswith="<b>")),
    ):
        yield Stop(f"poison-{name}", f"{home}/poison/{flag.id}/")
    yield Stop("poison-block", f"{home}/poison/{spread.flag_id}/block/")
    yield Stop("poison-lift", f"{home}/poison/{spread.flag_id}/lift/")
    yield Stop("poison-closure-lift", f"{home}/poison/closures/{spread.id}/lift/")
    yield Stop("episode-flagged", f"{home}/episodes/{spread.flag.episode_id}/")
    yield Stop("episode-flag", f"{home}/episodes/{spread.flag.episode_id}/flag/")


def _of_trust(app: App, home: str) -> Iterator[Stop]:
    yield Stop("settings-trust", f"{home}/settings/trust/")
    yield Stop("queue-held", f"{home}/queue/?why=held")
    for name in ("held", "kept-out", "alarmed"):
        found = Episode.objects.get(app=app, session_id=f"run-{name}")
        yield Stop(f"episode-{name}", f"{home}/episodes/{found.id}/")
        yield Stop(f"queue-{name}-item", f"{home}/queue/{found.id}/")
    deepest = Episode.objects.filter(app=app).order_by("-generation_depth", "id")[0]
    yield Stop("episode-built-on", f"{home}/episodes/{deepest.id}/")


def _of_erasures(app: App, home: str) -> Iterator[Stop]:
    yield Stop("erasures", f"{home}/")
    yield Stop("erasure-readmit", f"{home}/readmit/")
    for status, found in erasures_of(app).items():
        yield Stop(f"erasure-{status}", f"{home}/{found.pk}/")
        if status == "verified":
            yield Stop("erasure-certificate", f"{home}/{found.pk}/certificate/")


def _of_the_audit(app: App, home: str) -> Iterator[Stop]:
    yield Stop("audit", f"{home}/")
    yield Stop("audit-narrowed", f"{home}/?verb=flag&role=curator&way=changes&since=2020-01-01")
    yield Stop("audit-none", f"{home}/?actor=nobody")
    yield Stop("audit-wrong", f"{home}/?verb=Outcome+stated&since=yesterday")
    yield Stop("audit-verification", f"{home}/verification/")
    entries = AuditEntry.objects.filter(app=app).order_by("at", "id")
    for name, verb in (("changed", "outcome.stated"), ("created", "episode.created")):
        found = entries.filter(verb=verb).first()
        if found is not None:
            yield Stop(f"audit-{name}", f"{home}/{found.id}/")
    texts = AuditPayload.objects.filter(app=app).values("entry_id")
    erased = entries.exclude(id__in=texts).first()
    if erased is not None:
        yield Stop("audit-erased", f"{home}/{erased.id}/")
    yield Stop("audit-installation", "/audit/")


def _of_incidents(app: App, home: str) -> Iterator[Stop]:
    yield Stop("incidents", f"{home}/")
    yield Stop("incidents-none", f"{home}/?state=open")
    found = looked_into(app)
    yield Stop("incident", f"{home}/{found.id}/")
    for part in ("backwards", "forwards", "as-of"):
        yield Stop(f"incident-{part}", f"{home}/{found.id}/{part}/")
    yield Stop("incident-as-of-before", f"{home}/{found.id}/as-of/?at=2020-01-01T00:00")


def _of_promotion(app: App, home: str) -> Iterator[Stop]:
    for name in ("", "waiting", "published", "lessons", "history"):
        yield Stop(f"promotion-{name or 'candidates'}", f"{home}/{name and name + '/'}")
    yield Stop("promotion-warnings", f"{home}/?kind=warning")
    yield Stop("promotion-none", f"{home}/?procedure=nothing")
    shared = precedent_of(app, "run-shared")
    yield Stop("promotion-successor", f"{home}/?supersedes={shared.id}")
    for name in ("shared", "taken-back", "refused", "waits"):
        yield Stop(f"precedent-{name}", f"{home}/{precedent_of(app, f'run-{name}').id}/")
    yield Stop("precedent-lesson", f"{home}/lessons/{lesson_of(app).id}/")
    yield Stop("precedent-propose", f"{home}/propose/{shared.source_episode_id}/")
    yield Stop("episode-shared", f"/apps/{app.name}/episodes/{shared.org_episode_id}/")
