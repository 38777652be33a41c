"""`python -m benchmarks attacks --only promotion`: planted episodes on their way to everybody.

Many customers of one app, each with real sessions. After the first part an attacker plants made-up
successes, and everybody who could stop them is fooled: one reviewer calls each planted episode a
success, one curator proposes it and another approves it, without an override. Honest successes go the
same way. The rest of the sessions, all of other customers, search with scope `both`.

*On*: k, shadow recall and the burst rule at their defaults; *off*: k = 1, and neither rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import product
from typing import TYPE_CHECKING

from benchmarks.attacks import (
    GAP,
    PLANT_AFTER,
    QUERY_LENGTH,
    Body,
    Score,
    World,
    count_held,
    graft,
    share,
    wish_of,
)

if TYPE_CHECKING:
    from episodes.models import Episode

AT_ONCE, SLOWLY = timedelta(seconds=20), timedelta(hours=2)
# (pace, its name, measures); without the burst rule the pace says nothing.
_WAYS = ((AT_ONCE, "at once", True), (SLOWLY, "every 2 h", True), (SLOWLY, "every 2 h", False))
_N_FIELDS = 3  # of graft(): wish n is of field n % 3


@dataclass(slots=True)
class Gates:
    """How far episodes came. `judged`: a reviewer was asked and said success."""

    listed_as_they_are: int = 0
    judged: int = 0
    listed: int = 0
    published: int = 0
    stopped: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Outcome:
    score: Score = field(default_factory=Score)
    planted: Gates = field(default_factory=Gates)
    clean: Gates = field(default_factory=Gates)


def report(bodies: list[Body], named: str = "") -> None:
    print(
        "\n| attack | measures | whose | written | held before their first recall | listed as they"
        " are | called a success | listed then | published | stopped by | first for | among the"
        " hits of | searches |\n| --- | --- | --- |" + " ---: |" * 6 + " --- |" + " ---: |" * 3
    )
    for n_subjects, verify, (gap, pace, measures) in product((1, 3), (False, True), _WAYS):
        key = "stolen verify key" if verify else "plain key"
        name = f"(b) {n_subjects} subject{'s' * (n_subjects > 1)}, {key}, {pace}"
        if named in name:
            found = play_shared(bodies, spread(n_subjects), gap, measures=measures, verify=verify)
            _print(f"{name} | {'on' if measures else 'off'}", found)


def spread(n_subjects: int) -> list[Body]:
    """The ten fakes of so many subjects, who know that support is counted by procedure and goal:
    each words every field."""
    return [
        body | {"user_id": f"attacker-{number // _N_FIELDS % n_subjects}"}
        for number, body in enumerate(graft())
    ]


def play_shared(
    bodies: list[Body], planted: list[Body], gap: timedelta, *, measures: bool, verify: bool
) -> Outcome:
    """Play the first part, plant, let the fooled people decide, and search with the rest."""
    from episodes.models import App  # noqa: PLC0415
    from memoryadmin.lib import clock  # noqa: PLC0415
    from memoryadmin.lib.jobs import without_doorbells  # noqa: PLC0415

    world, found = World(measures=measures), Outcome()
    if not measures:
        App.objects.filter(pk=world.app.pk).update(promotion_threshold=1)
        world.app.refresh_from_db()
    at = clock.now() - timedelta(days=100)
    first = int(len(bodies) * PLANT_AFTER)
    written: dict[str, str] = {}
    shared: set[str] = set()
    with without_doorbells():
        for number, body in enumerate(bodies):
            if number == first:
                at = _plant(world, planted, gap, at, verify=verify)
                with clock.at(at + GAP):
                    shared = _pass_gates(world, found)
                at += GAP
            at += GAP
            with clock.at(at):
                hits = _search_both(world, body)
                if number >= first:
                    found.score.searches += 1
                    found.score.taken += bool(hits) and hits[0] in shared
                    found.score.any += any(hit in shared for hit in hits)
                answer = world.write(world.honest, body)
                if "episode_id" in answer:
                    written[answer["episode_id"]] = answer["status"]
                world.settle()
    found.score.planted = len(world.planted)
    count_held(world, found.score, written)
    return found


def _plant(
    world: World, planted: list[Body], gap: timedelta, at: datetime, *, verify: bool
) -> datetime:
    from memoryadmin.lib import clock  # noqa: PLC0415

    for body in planted:
        at += gap
        with clock.at(at):
            answer = world.write(world.honest if verify else world.weak, body)
            world.settle()
        if "episode_id" in answer:
            world.planted.add(answer["episode_id"])
    return at


def _search_both(world: World, body: Body) -> list[str]:
    query = wish_of(body).replace("\0", "")[:QUERY_LENGTH]
    if not query:
        return []
    asked = {"user_id": body["user_id"], "session_id": body["session_id"], "query": query}
    answer = world.honest.post("search", asked | {"scope": "both"})
    return [memory["episode_id"] for memory in answer["memories"]]


def _pass_gates(world: World, found: Outcome) -> set[str]:
    """Review, propose and approve whatever lets itself be; return what is shared of the planted."""
    from django.db.models import Q  # noqa: PLC0415

    from episodes.models import Episode  # noqa: PLC0415

    gates = {True: found.planted, False: found.clean}
    for is_planted, n in _listed(world):
        gates[is_planted].listed_as_they_are += n
    believed = Q(outcome="success") | Q(id__in=world.planted)
    judged = list(Episode.objects.filter(believed, app=world.app).order_by("received_at"))
    for episode in judged:
        _call_success(episode)
    for is_planted, n in _listed(world):
        gates[is_planted].listed += n
    shared = set()
    for episode in judged:
        is_planted = str(episode.id) in world.planted
        gates[is_planted].judged += 1
        org_episode, stopped = _publish(episode)
        gates[is_planted].published += org_episode is not None
        gates[is_planted].stopped.update([stopped] if stopped else [])
        if is_planted and org_episode:
            shared.add(org_episode)
    world.settle()  # what is shared waits for its vector
    return shared


def _listed(world: World) -> Iterable[tuple[bool, int]]:
    """The curators' list: whether a row is of the attacker, and for how many episodes it stands."""
    from curation.reading.candidates import list_candidates  # noqa: PLC0415
    from episodes.models import Member  # noqa: PLC0415

    for one in list_candidates(member=Member(app=world.app)):
        yield str(one.id) in world.planted, 1 + one.n_alike


def _call_success(episode: Episode) -> None:
    from curation.review.deciding import Seen, correct_outcome  # noqa: PLC0415
    from episodes.audit import Actor  # noqa: PLC0415
    from episodes.enums import ActorKind  # noqa: PLC0415

    correct_outcome(
        episode=episode,
        outcome="success",
        reason="It reads as if all went well.",
        seen=Seen.of(episode),
        actor=Actor(name="reviewer", kind=ActorKind.MEMBER, role="reviewer"),
    )
    episode.refresh_from_db()


def _publish(episode: Episode) -> tuple[str | None, str]:
    """Propose as one curator and approve as another; return the shared episode, or what said no."""
    from curation.promotion import approve_precedent, propose_precedent  # noqa: PLC0415
    from curation.promotion.refusals import (  # noqa: PLC0415
        NotEligibleError,
        TooFewSubjectsError,
    )
    from curation.promotion.scan import scan_precedent  # noqa: PLC0415
    from episodes.audit import Actor  # noqa: PLC0415
    from episodes.enums import ActorKind  # noqa: PLC0415
    from episodes.publication import (  # noqa: PLC0415
        NothingToPublishError,
        ReadsLikeInstructionError,
    )

    one, other = (
        Actor(name=name, kind=ActorKind.MEMBER, role="curator")
        for name in ("curator-1", "curator-2")
    )
    try:
        made = propose_precedent(episode=episode, actor=one)
        approved = approve_precedent(
            precedent=made,
            actor=other,
            seen=made.version,
            accepted=[finding.key for finding in scan_precedent(made)],
            accepted_because="Nobody is named.",
        )
    except NotEligibleError as error:
        return None, error.why
    except TooFewSubjectsError:
        return None, "k"
    except NothingToPublishError:
        return None, "nothing left"
    except ReadsLikeInstructionError:
        return None, "instruction"
    return str(approved.org_episode_id), ""


def _print(name: str, found: Outcome) -> None:
    score = found.score
    taken = f"{share(score.taken, score.searches)} | {share(score.any, score.searches)}"
    for whose, gates, written, held, ends in (
        ("planted", found.planted, score.planted, score.held_in_time, taken),
        ("clean", found.clean, score.clean, score.clean_held.total(), " | "),
    ):
        by = ", ".join(f"{why} {n}" for why, n in sorted(gates.stopped.items())) or "none"
        print(
            f"| {name} | {whose} | {written} | {held} | {gates.listed_as_they_are}"
            f" | {gates.judged} | {gates.listed} | {gates.published} | {by} | {ends}"
            f" | {score.searches} |",
            flush=True,
        )
