"""Which arguments of which tools are kept.

Rules as an app stores them: {"<tool>": {"<argument>": true | false | "code"}}, where `*` stands
for every tool or every argument. The first that exists decides, in this order: tool and argument,
tool and `*`, `*` and argument, `*` and `*`; without any it is "code", the rule of a new app.

"code"   numbers, booleans, strings shaped like codes (no spaces, at most 40 characters, a digit
         or `_`), unless the argument's name says that it holds a secret, a person's name, a day
         of birth or a postal address
true     also a short text (one line, at most 120 characters) and a list of at most 20 such values
false    nothing

Longer texts and objects are never kept. What is kept is masked by the caller of `keep`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from episodes.ingest.exceptions import InvalidWhitelistError
from episodes.ingest.names import NAME_LENGTH
from episodes.ingest.safe_text import clean
from episodes.masking.telltale import holds_personal, holds_secret

Rule = bool | str
Scalar = bool | int | float | str

CODE: Final = "code"
DROPPED: Final = None

_MOST_TOOLS = 500
_MOST_ARGUMENTS = 500
_LONGEST_CODE = 40
_LONGEST_TEXT = 120
_LONGEST_LIST = 20
_EXACT = 2**53  # beyond it a float is no exact quantity
_LARGEST = 2**63 - 1

_PLACEHOLDER = re.compile(r"<[A-Z_]{2,16}>")  # of the masker; an exported value comes in again
_CODE = re.compile(r"[\w.:/@#$%&+=~,;!?*()\[\]{}|^-]*")
_CODE_SIGN = re.compile(r"[\d_]")


@dataclass(frozen=True, slots=True)
class Whitelist:
    rules: Mapping[str, Mapping[str, Rule]] = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Raises InvalidWhitelistError."""
        if not isinstance(value, Mapping):
            raise InvalidWhitelistError("", "must be an object of tools")
        if len(value) > _MOST_TOOLS:
            raise InvalidWhitelistError("", f"at most {_MOST_TOOLS} tools")
        return cls({tool: _read_arguments(tool, rules) for tool, rules in value.items()})

    def rule(self, tool: str, argument: str) -> Rule:
        for row, name in ((tool, argument), (tool, "*"), ("*", argument), ("*", "*")):
            if (found := self.rules.get(row, {}).get(name)) is not None:
                return found
        return CODE

    def keep(self, tool: str, argument: str, value: object) -> Scalar | list[Scalar] | None:
        """What of the value may be kept; None: dropped. Texts come back clean but not masked."""
        rule = self.rule(tool, argument)
        if rule is False:
            return DROPPED
        if isinstance(value, list) and rule is True and 0 < len(value) <= _LONGEST_LIST:
            kept = [_keep_scalar(item, rule) for item in value]
            return [item for item in kept if item is not None] if None not in kept else DROPPED
        allowed = _keep_scalar(value, rule)
        is_telltale = rule == CODE and allowed is not None and _is_telltale(argument)
        return DROPPED if is_telltale else allowed


def _read_arguments(tool: object, rules: object) -> dict[str, Rule]:
    pointer = f"/{tool}"
    if not isinstance(tool, str) or not 0 < len(tool) <= NAME_LENGTH:
        raise InvalidWhitelistError("", f"a tool's name has 1 to {NAME_LENGTH} characters")
    if not isinstance(rules, Mapping) or len(rules) > _MOST_ARGUMENTS:
        raise InvalidWhitelistError(pointer, f"must be an object of at most {_MOST_ARGUMENTS}")
    for argument, rule in rules.items():
        if not isinstance(argument, str) or not 0 < len(argument) <= NAME_LENGTH:
            raise InvalidWhitelistError(pointer, f"an argument has 1 to {NAME_LENGTH} characters")
        if not isinstance(rule, bool) and rule != CODE:
            raise InvalidWhitelistError(f"{pointer}/{argument}", 'must be true, false or "code"')
    return dict(rules)


def _keep_scalar(value: object, rule: Rule) -> Scalar | None:
    if isinstance(value, str):
        text = clean(value)
        return text if (_is_short(text) if rule is True else _is_code(text)) else DROPPED
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _LARGEST else DROPPED
    if isinstance(value, float):
        return _exact(value)
    return DROPPED


def _exact(value: float) -> Scalar | None:
    """Whole numbers as integers, so that 5, 5.0 and -0.0 hash and store the same everywhere."""
    if not abs(value) <= _EXACT:  # also NaN
        return DROPPED
    return int(value) if value.is_integer() else value


def _is_short(text: str) -> bool:
    return len(_PLACEHOLDER.sub("", text)) <= _LONGEST_TEXT and "\n" not in text


def _is_code(text: str) -> bool:
    bare = _PLACEHOLDER.sub("", text)
    if len(bare) > _LONGEST_CODE or not _CODE.fullmatch(bare):
        return False
    return bool(_CODE_SIGN.search(bare)) or bare != text


def _is_telltale(argument: str) -> bool:
    return holds_secret(argument) or holds_personal(argument, name_alone=True)
