"""What the demo's reviewers do: every few working days one of them takes what is on top of the
queue, finds out what is true and decides."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, partial
from pathlib import Path
from random import Random

from curation.review.deciding import PROPOSED, Seen, accept_feedback, correct_outcome
from curation.review.queue import Item, Why, read_queue
from episodes.enums import Rating
from episodes.models import Episode, EpisodeRevision, Feedback, Member
from memoryadmin.demo.desk import Desk
from memoryadmin.demo.people import member
from memoryadmin.demo.phrases import Phrases
from memoryadmin.demo.trade import lines
from memoryadmin.lib import clock

_FILE = Path(__file__).parent / "words" / "reviews.toml"
_REVIEWERS = ("ines.fabre", "marek.dvorak", "ines.fabre")


@cache
def reasons() -> Mapping[str, tuple[str, ...]]:
    with _FILE.open("rb") as file:
        told = tomllib.load(file)
    return {outcome: lines(text) for outcome, text in told["reasons"].items()}


@dataclass(frozen=True, slots=True)
class Reviewing:
    """`pause`: days between two sittings; `at_once`: how many are decided in one."""

    desk: Desk
    seat: Member
    rng: Random
    phrases: Phrases
    pause: float
    at_once: int

    def plan(self, *, began: datetime) -> None:
        day, simulation = began, self.desk.simulation
        while day < simulation.now:
            day += timedelta(days=self.pause * self.rng.uniform(0.6, 1.4))
            if day.weekday() < 5:
                hour = self.rng.choice((9, 9, 10, 13, 15))
                simulation.schedule(
                    day.replace(hour=hour, minute=self.rng.randrange(60)), self._sit_down
                )

    def _sit_down(self) -> None:
        reviewer = self.rng.choice(_REVIEWERS)
        at = clock.now()
        queue = read_queue(member=self.seat)
        waiting = [item for item in queue.items if Why.HELD not in item.why]
        for item in waiting[: self.at_once]:
            at += timedelta(minutes=self.rng.uniform(1.5, 9))
            self.desk.simulation.schedule(at, partial(self._decide, item, reviewer))

    def _decide(self, item: Item, reviewer: str) -> None:
        truth = self.desk.truths.get((str(item.user_id), str(item.session_id)))
        if truth is None:
            return  # nobody can find out
        head = Episode.objects.get(app_id=self.seat.app_id, id=item.id)
        served = EpisodeRevision.objects.get(pk=(head.app_id, head.id, head.revision))
        feedback = (
            Feedback.objects.filter(
                app_id=head.app_id, user_id=item.user_id, session_id=item.session_id
            )
            .order_by("-at")
            .first()
        )
        agrees = feedback is not None and PROPOSED.get(Rating(feedback.rating)) == truth
        reason = self._reason(truth, served, agrees=agrees)
        seen, actor = Seen.of(head), member(reviewer)
        if feedback is not None and agrees:
            accept_feedback(episode=head, feedback=feedback, reason=reason, seen=seen, actor=actor)
        else:
            correct_outcome(episode=head, outcome=truth, reason=reason, seen=seen, actor=actor)

    def _reason(self, truth: str, served: EpisodeRevision, *, agrees: bool) -> str:
        known = [*reasons()[truth]]
        if agrees:
            known += reasons()[f"{truth}_heard"]
        if served.errors:
            known += reasons().get(f"{truth}_after_errors", ())
        called = [step["tool"] for step in served.steps if step["kind"] == "call"]
        return self.phrases.take(known).format(tool=called[-1])
