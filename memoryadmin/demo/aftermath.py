"""What is said about a session when it is over, by whom and when. Pure."""

from __future__ import annotations

from datetime import timedelta
from random import Random

from memoryadmin.demo.agent import Run
from memoryadmin.demo.cases import CLAIM, LATE, NOBODY, TOOL, Case, Said
from memoryadmin.demo.personal import asides
from memoryadmin.demo.trade import Trade

# An agent that thinks well of itself: the share of what went wrong that it calls a success.
_FLATTERY = 0.4


def choose_voice(case: Case, run: Run, mix: dict[str, int]) -> str:
    if case.script.voice:
        return case.script.voice
    if run.crashed:
        return NOBODY
    if case.task.known_after_days:
        return LATE
    return case.rng("voice").choices(list(mix), list(mix.values()))[0]


def stated_outcome(case: Case, run: Run, voice: str) -> str | None:
    """Return what is sent along with the session."""
    if voice == TOOL:
        return run.truth
    if voice != CLAIM:
        return None
    flattered = run.truth != "success" and case.rng("claim").random() < _FLATTERY
    return "success" if flattered else run.truth


def late_by(case: Case) -> timedelta:
    """Return how long after the session a tool says how it ended."""
    rng = case.rng("late")
    if case.task.known_after_days:
        return timedelta(days=case.task.known_after_days, hours=rng.uniform(-30, 30))
    return timedelta(hours=rng.choice((0.5, 2, 6, 20, 44, 90)) * rng.uniform(0.7, 1.3))


def feedback_on(case: Case, run: Run, trade: Trade, trade_name: str, *, share: float) -> list[Said]:
    if case.script.said is not None:
        return list(case.script.said)
    rng = case.rng("feedback")
    if rng.random() > share:
        return []
    rating = _rating(run.truth, rng)
    comment = _comment(case, rating, trade, rng)
    if rating != "neutral" and rng.random() < 0.07:
        comment = asides().of_comment(trade_name, rating, rng)
    lasted = run.transcript.ended - run.transcript.began
    return [Said(rating, comment, _after(lasted, rng))]


def _rating(truth: str, rng: Random) -> str:
    good = {"success": 0.82, "partial": 0.35, "escalated": 0.3}.get(truth, 0.08)
    if rng.random() < good:
        return "positive"
    return "negative" if rng.random() < 0.8 else "neutral"


def _comment(case: Case, rating: str, trade: Trade, rng: Random) -> str:
    if rating == "neutral":
        return rng.choice(trade.remarks)
    if rng.random() < 0.25:
        return ""
    return rng.choice(case.task.praise if rating == "positive" else case.task.complaint)


def _after(lasted: timedelta, rng: Random) -> timedelta:
    """During the session, at its end, or when it has sunk in."""
    when = rng.random()
    if when < 0.2:
        return lasted * rng.uniform(0.3, 0.9)
    if when < 0.5:
        return lasted + timedelta(seconds=rng.uniform(5, 90))
    return lasted + timedelta(hours=rng.choice((1, 3, 8, 26, 70, 160)) * rng.uniform(0.6, 1.4))
