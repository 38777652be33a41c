"""Generated episodes: 50 apps, zipf users, clustered unit vectors, and queries by the same law."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 256
N_APPS, N_USERS, N_THEMES, N_CLUSTERS = 50, 20_000, 100, 2_000
NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
OUTCOMES = ("success", "partial", "failure", "escalated", "unknown", "abandoned")
# 60 / 15 / 25 of success, partial and the rest that went wrong or was never settled
OUTCOME_SHARES = (0.60, 0.15, 0.13, 0.04, 0.06, 0.02)
SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "il")]

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Query:
    app_id: int
    user_id: str
    vector: Floats
    words: tuple[str, ...]
    identifiers: tuple[str, ...]


@dataclass(frozen=True)
class Episode:
    app_id: int
    id: uuid.UUID
    user_id: str | None  # None: the organisation's
    session_id: str | None
    completed_at: dt.datetime
    outcome: str
    outcome_source: str
    recall_state: str
    toolset_version: str | None
    issue_type: str
    agent_id: str
    goal: str
    steps: str
    lesson: str
    procedure_key: str
    identifiers: list[str]
    search_text: str
    tools: list[str]
    content_hash: str
    vector: Floats | None


@dataclass(frozen=True)
class Task:
    """What a cluster of vectors is about: its words, tools and error codes."""

    words: tuple[str, ...]
    procedures: tuple[tuple[str, ...], ...]
    codes: tuple[str, ...]
    issue_type: str


class Corpus:
    def __init__(self, *, n_rows: int, seed: int = 7, n_apps: int = N_APPS) -> None:
        self.n_rows = n_rows
        self.n_apps = n_apps
        self.numbers = np.random.default_rng(seed)
        self.random = random.Random(seed)
        self.centres = self._centres()
        self.tasks = [self._task(cluster) for cluster in range(N_CLUSTERS)]
        ranks = np.arange(1, N_USERS + 1, dtype=np.float64)
        self.user_law = (1 / ranks) / (1 / ranks).sum()
        apps = 1 / np.arange(1, n_apps + 1, dtype=np.float64) ** 0.7
        self.app_law = apps / apps.sum()
        self.home = self.numbers.choice(n_apps, N_USERS, p=self.app_law)
        self.habits = self.numbers.integers(0, N_CLUSTERS, (N_USERS, 20))

    def _centres(self) -> Floats:
        def units(n: int) -> Floats:
            raw = self.numbers.standard_normal((n, DIMENSIONS)).astype(np.float32)
            return _to_units(raw)

        themes = units(N_THEMES)[self.numbers.integers(0, N_THEMES, N_CLUSTERS)]
        mixed = 0.6 * themes + 0.8 * units(N_CLUSTERS)
        return _to_units(mixed)

    def _word(self) -> str:
        return "".join(self.random.choices(SYLLABLES, k=self.random.randint(2, 4)))

    def _task(self, cluster: int) -> Task:
        tools = [f"{self._word()}_{self._word()}" for _ in range(6)]
        return Task(
            words=tuple(self._word() for _ in range(28)),
            procedures=tuple(
                tuple(self.random.sample(tools, self.random.randint(2, 5))) for _ in range(4)
            ),
            codes=tuple(f"{self._word()}_{self._word()}".upper() for _ in range(3)),
            issue_type=f"issue_{cluster % 200}",
        )

    def _draw(self, n: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], Floats]:
        """users, apps, clusters, unit vectors (in-cluster cosine about 0.64)."""
        users = self.numbers.choice(N_USERS, n, p=self.user_law)
        strays = self.numbers.choice(self.n_apps, n, p=self.app_law)
        apps = np.where(self.numbers.random(n) < 0.8, self.home[users], strays)
        clusters = self.habits[users, self.numbers.integers(0, 20, n)]
        noise = self.numbers.standard_normal((n, DIMENSIONS)).astype(np.float32)
        vectors = self.centres[clusters] + noise * np.float32(0.75 / 16)
        return users, apps, clusters, _to_units(vectors)

    def episodes(self) -> Iterator[Episode]:
        """Oldest first, as they would have been written."""
        ages = np.sort(self.numbers.exponential(60, self.n_rows))[::-1]
        for start in range(0, self.n_rows, 20_000):
            chunk = ages[start : start + 20_000]
            users, apps, clusters, vectors = self._draw(len(chunk))
            for i, age in enumerate(chunk):
                yield self._episode(
                    number=start + i,
                    user=int(users[i]),
                    app=int(apps[i]),
                    task=self.tasks[int(clusters[i])],
                    completed=NOW - dt.timedelta(days=float(age)),
                    vector=vectors[i] if self.random.random() < 0.995 else None,
                )

    def _episode(
        self,
        *,
        number: int,
        user: int,
        app: int,
        task: Task,
        completed: dt.datetime,
        vector: Floats | None,
    ) -> Episode:
        pick = self.random
        (outcome,) = pick.choices(OUTCOMES, OUTCOME_SHARES)
        goal = f"Customer asks: {' '.join(pick.sample(task.words, 8))}?"
        tools = pick.choice(task.procedures)
        code = pick.choice(task.codes) if outcome != "success" or pick.random() < 0.3 else None
        ids = [f"{pick.choice('ABCD')}-{pick.randint(10_000, 9_999_999)}" for _ in range(3)]
        steps = json.dumps(self._steps(tools, code, ids, completed))
        identifiers = [*tools, *(i.lower() for i in ids), *([code.lower()] if code else [])]
        lesson = f"Called {', '.join(tools)}; ended as {outcome}."
        return Episode(
            app_id=app,
            id=_uuid7(completed, pick),
            user_id=f"user-{user:06d}@example.org",
            session_id=f"session-{number:09d}",
            completed_at=completed,
            outcome=outcome,
            outcome_source="tool" if pick.random() < 0.7 else "agent_claim",
            recall_state="recallable" if pick.random() < 0.98 else "blocked",
            toolset_version=pick.choice(("t1", "t2", "t2", "t2", None)),
            issue_type=task.issue_type,
            agent_id=f"agent-{app}",
            goal=goal,
            steps=steps,
            lesson=lesson,
            procedure_key=hashlib.sha256("\n".join(tools).encode()).hexdigest(),
            identifiers=identifiers,
            search_text=" ".join([goal, *identifiers, f"resolved by {pick.choice(task.words)}"]),
            tools=list(tools),
            content_hash=hashlib.sha256(steps.encode()).hexdigest(),
            vector=vector,
        )

    def _steps(
        self, tools: tuple[str, ...], code: str | None, ids: list[str], at: dt.datetime
    ) -> list[dict[str, object]]:
        steps: list[dict[str, object]] = []
        calls = tools
        for position, tool in enumerate(calls):
            call_id = f"call_{self.random.getrandbits(64):016x}"
            stamp = (at + dt.timedelta(seconds=2 * position)).isoformat()
            arguments = {"reference": self.random.choice(ids), "limit": self.random.randint(1, 99)}
            call = {"seq": len(steps) + 1, "kind": "call", "tool": tool, "call_id": call_id}
            steps.append({**call, "arguments": arguments, "at": stamp})
            error = code if position == len(calls) - 1 else None
            result = {"seq": len(steps) + 1, "kind": "result", "tool": tool, "call_id": call_id}
            steps.append({**result, "error": error} if error else {**result, "at": stamp})
        return steps

    def queries(self, n: int) -> list[Query]:
        users, apps, clusters, vectors = self._draw(n)
        return [
            self._query(int(apps[i]), int(users[i]), int(clusters[i]), vectors[i]) for i in range(n)
        ]

    def _query(self, app: int, user: int, cluster: int, vector: Floats) -> Query:
        task, pick = self.tasks[cluster], self.random
        known = [pick.choice(task.codes), *pick.choice(task.procedures)[:1]]
        # every second query names a code or a tool, every fourth both
        identifiers = [known, known[:1], [], []][pick.randrange(4)]
        words = pick.sample(task.words, 8)
        return Query(
            app_id=app,
            user_id=f"user-{user:06d}@example.org",
            vector=vector,
            words=(*words, *identifiers),
            identifiers=tuple(token.lower() for token in identifiers),
        )


def _to_units(rows: Floats) -> Floats:
    units: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return units


def _uuid7(at: dt.datetime, pick: random.Random) -> uuid.UUID:
    milliseconds = int(at.timestamp() * 1000)
    value = milliseconds << 80 | 0x7 << 76 | pick.getrandbits(12) << 64
    return uuid.UUID(int=value | 0b10 << 62 | pick.getrandbits(62))
