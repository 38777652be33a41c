"""What the demo's reviewers do: on working mornings they take up what nobody has settled."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, partial
from pathlib import Path
from random import Random

from episodes import lifecycle
from episodes.enums import AUTHORITIES, OutcomeSource, State
from episodes.lifecycle import Statement
from episodes.models import App, Episode, EpisodeRevision, Feedback
from memoryadmin.demo.desk import Desk
from memoryadmin.demo.people import member
from memoryadmin.demo.simulation import Simulation
from memoryadmin.demo.trade import lines
from memoryadmin.lib import clock

_FILE = Path(__file__).parent / "words" / "reviews.toml"
_REVIEWERS = ("ines.fabre", "marek.dvorak", "ines.fabre")


@cache
def reasons() -> Mapping[str, tuple[str, ...]]:
    with _FILE.open("rb") as file:
        told = tomllib.load(file)
    return {outcome: lines(text) for outcome, text in told["reasons"].items()}


@dataclass(slots=True)
class Reviewing:
    """Every few days somebody reviews up to `at_once` episodes of an app, those with feedback
    first; they find out what is true."""

    desk: Desk
    app: App
    rng: Random
    at_once: int = 3

    def plan(self, simulation: Simulation, *, began: datetime, pause: float) -> None:
        day = began
        while day < simulation.now:
            day += timedelta(days=pause * self.rng.uniform(0.6, 1.4))
            if day.weekday() < 5:
                morning = day.replace(hour=9, minute=self.rng.randrange(60))
                simulation.schedule(morning, partial(self._sit_down, simulation))

    def _sit_down(self, simulation: Simulation) -> None:
        reviewer = self.rng.choice(_REVIEWERS)
        at = clock.now()
        for episode in self._open_questions():
            at += timedelta(minutes=self.rng.uniform(1.5, 9))
            simulation.schedule(at, partial(self._decide, episode, reviewer))

    def _open_questions(self) -> list[Episode]:
        now = clock.now()
        waiting = (
            Episode.objects.of_app(self.app)
            .filter(state=State.COMPLETED, received_at__gt=now - timedelta(days=12))
            .filter(received_at__lt=now - timedelta(hours=20))
            .order_by("received_at", "session_id")
        )
        undecided = [head for head in waiting if head.outcome_source not in AUTHORITIES]
        heard = set(
            Feedback.objects.filter(app=self.app).values_list("user_id", "session_id").distinct()
        )
        undecided.sort(key=lambda head: (head.user_id, head.session_id) not in heard)
        return undecided[: self.at_once]

    def _decide(self, episode: Episode, reviewer: str) -> None:
        truth = self.desk.truths.get((str(episode.user_id), str(episode.session_id)))
        if truth is None:
            return
        feedback = Feedback.objects.filter(
            app=self.app, user_id=episode.user_id, session_id=episode.session_id
        ).order_by("received_at")
        head = Episode.objects.get(app=self.app, id=episode.id)
        served = EpisodeRevision.objects.get(pk=(self.app.id, head.id, head.revision))
        reason = self.rng.choice(reasons()[truth]).format(tool=served.tools[-1])
        lifecycle.state_outcome(
            episode=head,
            statement=Statement(
                outcome=truth,
                source=OutcomeSource.REVIEWER,
                revision=head.revision,
                reason=reason,
                evidence={"feedback": [str(each.id) for each in feedback]} if feedback else {},
            ),
            actor=member(reviewer),
        )
