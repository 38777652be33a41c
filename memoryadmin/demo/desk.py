"""One agent application at work: takes cases, asks and writes by the API, hears what people say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from episodes.ingest.idle import close_idle
from memoryadmin.demo.aftermath import choose_voice, feedback_on, late_by, stated_outcome
from memoryadmin.demo.agent import Agent, Run, work
from memoryadmin.demo.cases import LATE, TOOL, Case
from memoryadmin.demo.formats import as_adk, as_episode, as_messages
from memoryadmin.demo.gateway import Gateway
from memoryadmin.demo.indexing import Indexing
from memoryadmin.demo.simulation import Simulation
from memoryadmin.demo.trade import Trade
from memoryadmin.demo.transcript import Transcript
from memoryadmin.lib import clock

_IDLE = timedelta(minutes=61)
_REPLAY = timedelta(hours=2)
_GOES_ON = timedelta(days=5)


@dataclass(frozen=True, slots=True)
class Release:
    """A version of the agent, from a moment on. `toolset` as sent with a session."""

    since: datetime
    agent: Agent
    toolset: dict[str, Any]
    version: str


@dataclass(frozen=True, slots=True)
class Habits:
    """Weights of formats and voices; `feedback` is the share of sessions that get some."""

    formats: dict[str, int]
    voices: dict[str, int]
    feedback: float
    source: str  # where feedback is given
    narrow: bool = False  # asks for precedent of the same issue type only


@dataclass(slots=True)
class Desk:
    """`agent` is the key of the agents, `backend` of the programs that know the truth, `widget`
    of the page on which users give feedback."""

    name: str
    trade_name: str
    trade: Trade
    habits: Habits
    agent: Gateway
    backend: Gateway
    widget: Gateway
    backend_name: str
    simulation: Simulation
    indexing: Indexing
    releases: list[Release] = field(default_factory=list)
    truths: dict[tuple[str, str], str] = field(default_factory=dict)  # by user and session
    bases: list[str] = field(default_factory=list)

    def take(self, case: Case) -> None:
        self.simulation.schedule(case.began, partial(self._begin, case))

    def release_at(self, at: datetime) -> Release:
        return [release for release in self.releases if release.since <= at][-1]

    def _begin(self, case: Case) -> None:
        release = self.release_at(case.began)
        if case.task.aim not in release.agent.tools:
            case = replace(case, task=self.trade.formerly(case.task))
        run = work(release.agent, case, ask=partial(self._ask, case))
        if not case.script.unclear:
            self.truths[case.user_id, case.session_id] = run.truth
        self.bases.append(run.basis)
        voice = choose_voice(case, run, self.habits.voices)
        end = run.transcript.ended + timedelta(seconds=case.rng("write").uniform(1, 6))
        self._schedule_writes(case, release, run, voice, end)
        for said in feedback_on(case, run, self.trade, self.trade_name, share=self.habits.feedback):
            hear = partial(
                self.hear,
                user_id=case.user_id,
                session_id=case.session_id,
                rating=said.rating,
                comment=said.comment,
            )
            self.simulation.schedule(case.began + said.after, hear)
        if voice == LATE:
            settle = partial(self.settle, case.user_id, case.session_id, run.truth)
            self.simulation.schedule(end + late_by(case), settle)

    def _ask(self, case: Case, query: str, at: datetime) -> Sequence[Any]:
        filters = {"issue_type": case.task.kind} if self.habits.narrow else {}
        with clock.at(at):
            return self.look_up(
                user_id=case.user_id, session_id=case.session_id, query=query, filters=filters
            )

    def look_up(
        self, *, user_id: str, session_id: str, query: str, filters: Mapping[str, str] | None = None
    ) -> Sequence[Mapping[str, Any]]:
        """Ask the memory, now."""
        self.indexing.prepare_search(self.name, user_id)
        release = self.release_at(clock.now())
        body = {
            "user_id": user_id,
            "query": query,
            "session_id": session_id,
            "invocation_id": f"e-{session_id}",
            "agent_id": release.agent.agent_id,
            "toolset_version": release.version,
            "filters": filters or {},
        }
        found: Sequence[Mapping[str, Any]] = self.agent.post("search", body)["memories"]
        return found

    def _schedule_writes(
        self, case: Case, release: Release, run: Run, voice: str, end: datetime
    ) -> None:
        n = len(run.transcript.moves)
        checkpoints: list[dict[str, Any]] = []
        for number in range(1, case.script.checkpoints + 1):
            part = run.transcript.first(max(1, n * number // (case.script.checkpoints + 1)))
            body = self._body(case, release, part, outcome=None) | {"final": False}
            checkpoints.append(body)
            at = part.ended + timedelta(seconds=1)
            self.simulation.schedule(at, partial(self.write, self.agent, body))
            self.simulation.schedule(at + _IDLE, _close_idle)
        outcome = stated_outcome(case, run, voice)
        body = self._body(case, release, run.transcript, outcome)
        sender = self.backend if voice == TOOL else self.agent
        self.simulation.schedule(end, partial(self.write, sender, body))
        if case.script.afterwards:
            went_on = run.transcript.gone_on(case.script.afterwards, after=_GOES_ON)
            body = self._body(case, release, went_on, outcome)
            self.simulation.schedule(went_on.ended, partial(self.write, self.agent, body))
        if case.script.replays:
            for late in (checkpoints[-1], body):
                self.simulation.schedule(end + _REPLAY, partial(self.write, self.agent, late))

    def write(self, sender: Gateway, body: dict[str, Any]) -> None:
        self.indexing.note_write(self.name, body["user_id"])
        sender.post("sessions", body)

    def _body(
        self, case: Case, release: Release, transcript: Transcript, outcome: str | None
    ) -> dict[str, Any]:
        weights = self.habits.formats
        chosen = (
            case.script.format
            or case.rng("format").choices(list(weights), list(weights.values()))[0]
        )
        body: dict[str, Any] = {
            "user_id": case.user_id,
            "session_id": case.session_id,
            "format": chosen,
            "agent_id": release.agent.agent_id,
            "issue_type": case.task.kind,
            "toolset": release.toolset,
        }
        body |= {"task_id": case.task_id} if case.task_id else {}
        body |= {"tags": list(case.tags)} if case.tags else {}
        recorded = case.script.recorded or ((outcome,) if outcome else ())
        if chosen == "adk":
            body["session"] = as_adk(
                transcript,
                app_name=self.name,
                user_id=case.user_id,
                session_id=case.session_id,
                outcomes=recorded,
                java=case.rng("java").random() < 0.5,
            )
            return body
        write = as_messages if chosen == "messages" else as_episode
        return body | {"session": write(transcript)} | ({"outcome": outcome} if outcome else {})

    def write_chat(self, *, user_id: str, session_id: str, said: str) -> None:
        """Send a session in which no tool was called."""
        messages = [
            {"role": "user", "content": said},
            {"role": "assistant", "content": "Let me see. Is there anything else?"},
        ]
        body = {"user_id": user_id, "session_id": session_id, "format": "messages"}
        self.write(self.agent, body | {"session": {"messages": messages}})

    def hear(self, *, user_id: str, session_id: str, rating: str, comment: str) -> None:
        """Send what a user says about a session."""
        body = {
            "user_id": user_id,
            "session_id": session_id,
            "rating": rating,
            "comment": comment,
            "source": self.habits.source,
        }
        self.widget.post("feedback", body)

    def settle(self, user_id: str, session_id: str, outcome: str) -> None:
        """A program that knows the truth says so, later."""
        body = {
            "user_id": user_id,
            "session_id": session_id,
            "outcome": outcome,
            "evidence": {"system": self.backend_name, "case": session_id},
        }
        self.backend.post("outcomes", body)


def _close_idle() -> None:
    """Beat does it once a minute; here it is enough where something may be open."""
    close_idle()
