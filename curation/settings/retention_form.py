"""The editor of an app's retention as it was sent: a line for each policy, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.http import QueryDict

from episodes.enums import Outcome, ReviewState, Scope
from episodes.retention.expiry import Kind
from episodes.retention.policies import Policy, Wanted

COLUMNS = (
    *("name", "outcome", "scope", "review_state", "promoted"),
    *("age_days", "keep_newest", "retired_days"),
)
MOST_DAYS = 36_500
MOST_EPISODES = 100_000_000
_CUT = "The form was cut on its way. Load the page again."
_PROMOTED = {"": None, "yes": True, "no": False}
_CHOICES = {"outcome": Outcome.values, "scope": Scope.values, "review_state": ReviewState.values}


@dataclass(slots=True)
class RetentionForm:
    """`rows`: each column's text, as it was sent. `wanted`: what they mean, when all is valid."""

    days: str
    log_days: str
    rows: Sequence[Mapping[str, str]]
    seen: int = -1
    reason: str = ""
    errors: list[str] = field(default_factory=list)
    wanted: Wanted | None = None

    @classmethod
    def of(cls, wanted: Wanted, *, seen: int) -> RetentionForm:
        """What is in force, as the editor shows it."""
        rows = [_row_of(one) for one in wanted.policies]
        return cls(str(wanted.days), _shown(wanted.log_days), rows, seen, wanted=wanted)

    @classmethod
    def read(cls, sent: QueryDict) -> RetentionForm:
        columns = [[text.strip() for text in sent.getlist(name)] for name in COLUMNS]
        rows = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*columns, strict=False)]
        form = cls(
            days=sent.get("days", "").strip(),
            log_days=sent.get("log_days", "").strip(),
            rows=[row for row in rows if any(row.values())],
            reason=sent.get("reason", "")[:1_000],
        )
        seen = sent.get("seen", "")
        if len({len(column) for column in columns}) != 1 or not _is_number(seen):
            form.errors.append(_CUT)
        else:
            form.seen = int(seen)
            form._take()
        return form

    def is_valid(self) -> bool:
        return not self.errors

    def _take(self) -> None:
        days = self._number("Episodes", self.days, most=MOST_DAYS)
        log_days = self._number("Log and feedback", self.log_days, most=MOST_DAYS)
        if not self.days:
            self.errors.append("Episodes: say for how many days.")
        policies = tuple(self._policy(row) for row in self.rows)
        if not self.errors and days is not None:
            self.wanted = Wanted(days, log_days, policies)

    def _policy(self, row: Mapping[str, str]) -> Policy:
        name = row["name"]
        called = name[:100] or "A policy"
        if not name:
            self.errors.append("Each policy has a name.")
        if len(name) > 100 or "\x00" in name:
            self.errors.append(f"{called}: a name has at most 100 characters.")
        for column, known in _CHOICES.items():
            if row[column] and row[column] not in known:
                self.errors.append(f"{called}: there is no such {column.replace('_', ' ')}.")
        if row["promoted"] not in _PROMOTED:
            self.errors.append(f"{called}: promoted is yes or no.")
        limits = {
            "age_days": self._number(f"{called}: age", row["age_days"], most=MOST_DAYS),
            "keep_newest": self._number(
                f"{called}: newest", row["keep_newest"], most=MOST_EPISODES
            ),
            "retired_days": self._number(f"{called}: toolset", row["retired_days"], most=MOST_DAYS),
        }
        if not any(limits.values()) and not any(row[name] for name in limits):
            self.errors.append(f"{called}: say when its episodes expire.")
        kind = Kind(
            outcome=row["outcome"] or None,
            scope=row["scope"] or None,
            review_state=row["review_state"] or None,
            promoted=_PROMOTED.get(row["promoted"]),
        )
        return Policy(name, kind, **limits)

    def _number(self, called: str, text: str, *, most: int) -> int | None:
        """Return None for an empty field, and for one that was complained about."""
        if not text:
            return None
        if not _is_number(text) or not 1 <= int(text) <= most:
            self.errors.append(f"{called}: a whole number from 1 to {most:,}.")
            return None
        return int(text)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9


def _row_of(policy: Policy) -> Mapping[str, str]:
    told = policy.columns()
    promoted = {None: "", True: "yes", False: "no"}[policy.kind.promoted]
    return {name: _shown(told[name]) for name in COLUMNS} | {"promoted": promoted}


def _shown(value: object) -> str:
    return "" if value is None else str(value)
