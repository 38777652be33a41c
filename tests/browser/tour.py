"""Every page of the console, by a name and the address it has in a store of sample.py."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from episodes.models import App, Episode, RecallHit


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
    yield Stop("apps", "/apps/")
    yield Stop("preferences", "/preferences/")
    yield Stop("keys", "/keys/")
    yield Stop("missing", f"{home}/nowhere/")
