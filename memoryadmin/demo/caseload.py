"""The everyday cases of an agent application: who asks for what, when, in which words. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from random import Random

from memoryadmin.demo.cases import Case, Script
from memoryadmin.demo.personal import asides
from memoryadmin.demo.phrases import Phrases
from memoryadmin.demo.tasks import Slots, Task
from memoryadmin.demo.trade import Trade

_SAME_INCIDENT = timedelta(minutes=25)


@dataclass(slots=True)
class Caseload:
    """`prefix` begins the session ids, `case_id` is how the application numbers its tasks."""

    trade: Trade
    trade_name: str
    prefix: str
    case_id: str
    rng: Random
    _phrases: Phrases = field(init=False)

    def __post_init__(self) -> None:
        self._phrases = Phrases(self.rng)

    def cases(self, moments: Sequence[datetime]) -> Iterator[Case]:
        before: Case | None = None
        for began in moments:
            joins = before and began - before.began < _SAME_INCIDENT and self.rng.random() < 0.5
            before = self._case(began, along_with=before if joins else None)
            yield before

    def _case(self, began: datetime, *, along_with: Case | None) -> Case:
        user = self._user()
        task = along_with.task if along_with else self._task(user)
        slots = self.trade.draw(self.rng, began)
        person = asides().person(self.rng)
        slots["recipient"] = person.email
        goal = self._phrases.take(task.goals).format(**slots)
        if self.rng.random() < 0.07:
            aside = self._phrases.take(asides().goals[self.trade_name])
            goal = f"{goal}. {aside.format(**asdict(person))}"
        return Case(
            user_id=user,
            session_id=f"{self.prefix}-{self.rng.getrandbits(32):08x}",
            task=task,
            slots=slots,
            goal=self._framed(goal),
            ask=self._ask(task, goal),
            began=began,
            task_id=along_with.task_id if along_with else self._task_id(slots),
            tags=self._tags(slots),
            script=Script(checkpoints=self.rng.choice((0,) * 22 + (1, 2))),
        )

    def _user(self) -> str:
        users = self.trade.users
        return self.rng.choices(users, [1 / (n + 2) for n in range(len(users))])[0]

    def _task(self, user: str) -> Task:
        """Most of what one user asks for is of two kinds."""
        tasks = self.trade.tasks
        weights = [task.weight for task in tasks]
        favourites = Random(user).choices(tasks, weights, k=2)  # noqa: S311  (content)
        if self.rng.random() < 0.88:
            return self.rng.choice(favourites)
        return self.rng.choices(tasks, weights)[0]

    def _framed(self, goal: str) -> str:
        if self.rng.random() < 0.25:
            goal = self._phrases.take(self.trade.openings) + goal
        if self.rng.random() < 0.22:
            closing = self._phrases.take(self.trade.closings)
            goal += f" {closing.lstrip('., ')}" if goal.endswith(("?", "!")) else closing
        return goal

    def _ask(self, task: Task, goal: str) -> str:
        return goal if self.rng.random() < 0.55 else self.rng.choice(task.asks)

    def _task_id(self, slots: Slots) -> str:
        return self.case_id.format(self.rng.randrange(1000, 9900), **slots)

    def _tags(self, slots: Slots) -> tuple[str, ...]:
        told = (slots.get("region"), slots.get("severity"), slots.get("area"), slots.get("plan"))
        return tuple(str(tag).lower() for tag in told if tag and self.rng.random() < 0.6)


def special_case(
    trade: Trade,
    *,
    user_id: str,
    session_id: str,
    kind: str,
    began: datetime,
    goal: str = "",
    script: Script | None = None,
    **slots: str | int,
) -> Case:
    """Return one case with what is given fixed, and the rest drawn by its session id."""
    rng = Random(session_id)  # noqa: S311  (content, not a secret)
    task = trade.task(kind)
    drawn = trade.draw(rng, began) | {"recipient": ""} | slots
    wanted = goal or rng.choice(task.goals).format(**drawn)
    return Case(
        user_id=user_id,
        session_id=session_id,
        task=task,
        slots=drawn,
        goal=wanted,
        ask=wanted,
        began=began,
        script=script or Script(),
    )
