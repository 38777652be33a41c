"""Personal data that the demo's people write, so that one can see what is kept of it."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from random import Random

from memoryadmin.demo.trade import lines

_FILE = Path(__file__).parent / "words" / "personal.toml"


@dataclass(frozen=True, slots=True)
class Person:
    email: str
    phone: str
    card: str
    iban: str


@dataclass(frozen=True, slots=True)
class Asides:
    people: tuple[Person, ...]
    goals: dict[str, tuple[str, ...]]  # by trade
    comments: dict[str, dict[str, tuple[str, ...]]]  # by trade and rating

    def person(self, rng: Random) -> Person:
        return rng.choice(self.people)

    def of_comment(self, trade: str, rating: str, rng: Random) -> str:
        return rng.choice(self.comments[trade][rating]).format(**asdict(self.person(rng)))


@cache
def asides() -> Asides:
    with _FILE.open("rb") as file:
        told = tomllib.load(file)
    return Asides(
        people=tuple(Person(**person) for person in told["person"]),
        goals={trade: lines(text) for trade, text in told["asides"].items()},
        comments={
            trade: {rating: lines(text) for rating, text in ratings.items()}
            for trade, ratings in told["comments"].items()
        },
    )


def canaries() -> tuple[str, ...]:
    """Return every personal value, as written: none of them may be stored anywhere."""
    return tuple(value for person in asides().people for value in asdict(person).values())
