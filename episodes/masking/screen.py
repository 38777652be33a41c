"""Text that reads like an instruction to a model. What is held waits for a reviewer, so the rules
lean on what a request of a user does not contain: talk of instructions, of roles, of what later
runs must do, of reading secrets, or letters that hide.

What they do not see: base64, ciphers, leet spelling, letters set apart by spaces, languages other
than those written out below, a paraphrase without any of these words, and an order that looks like
an ordinary task ("transfer 30,000 to ..."). Text rules alone stop little; the authority of outcomes,
the alarms and the reviews are the defence.

Measured on the shared data (tests/episodes/masking/test_screen.py holds the floors): 13 of 13 injected
texts of ipi_payloads, 54 of 61 of agentdojo (the 7 missed are such ordinary tasks), none of 298
genuine goals, none of 3867 turns of customer conversations.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left

from episodes.masking.screen_rules import COMMAND, CONDITION, RULES
from episodes.masking.view import folded

# Cyrillic and Greek letters drawn like Latin ones.
_DRAWN_ALIKE = str.maketrans("аеорсухіјѕԁһӏԛԝκοραντυι", "aeopcyxijsdhlqwkopavtui")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_GAPS = re.compile(r"[^\S\n]{2,}|[^\S\n ]")
_BREAKS = re.compile(r" ?\n[ \n]*")

_COMMANDS, _CONDITIONS = re.compile(COMMAND), re.compile(CONDITION)
_NEAR = 300  # characters

# England, Scotland, Wales: the one honest use of the tag block.
_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,8}\U000e007f")
_HIDDEN = re.compile(
    "[\U000e0000-\U000e007f]{3}"  # letters of the tag block: ASCII that nobody sees
    "|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4}"  # bytes as variation selectors
    "|[\u200b-\u200d\u2060-\u2064\ufeff]{8}"  # bits as zero-width characters
    "|[\u202d\u202e][^\u202c\n]{8}"  # shown in another order than it is read
)
_SPLIT_WORD = re.compile("[A-Za-z][\u200b-\u200d\u2060-\u2064\ufeff]+(?=[A-Za-z])")
_MANY_SPLITS = 5


def looks_like_instruction(text: str) -> str | None:
    """A reason code, or None: `override_instructions`, `role_marker`, `addressed_to_model`,
    `tool_directive`, `memory_directive`, `exfiltration`, `hidden_text`."""
    if not text.isascii() and _hides(text):
        return "hidden_text"
    # Once with its lines, once as one line: a break in the middle of a sentence hides nothing.
    lines = _plain(text)
    one_line = lines.replace("\n", " ")
    views = (lines,) if one_line == lines else (lines, one_line)
    for rule in RULES:
        if any(word in lines for word in rule.needs) and any(map(rule.pattern.search, views)):
            return rule.reason
    return "tool_directive" if _demands_command(lines) else None


def _demands_command(plain: str) -> bool:
    """A command near a condition ("before you change anything") or a claim of authority."""
    commands = [match.start() for match in _COMMANDS.finditer(plain)]
    if not commands:
        return False
    for match in _CONDITIONS.finditer(plain):
        following = bisect_left(commands, match.start() - _NEAR)
        if following < len(commands) and commands[following] <= match.end() + _NEAR:
            return True
    return False


def _hides(text: str) -> bool:
    if _HIDDEN.search(_FLAG.sub("", text)):
        return True
    return sum(1 for _ in _SPLIT_WORD.finditer(text)) >= _MANY_SPLITS


def _plain(text: str) -> str:
    """Lower case, folded, without accents, in Latin letters, one space between words."""
    if not text.isascii():
        text = unicodedata.normalize("NFD", folded(text)).lower().translate(_DRAWN_ALIKE)
        text = _ACCENTS.sub("", text)
    return _BREAKS.sub("\n", _GAPS.sub(" ", text.lower()))
