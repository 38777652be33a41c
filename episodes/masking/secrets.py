"""Keys, tokens and passwords. Every repetition is bounded or runs over one character class that
the next part cannot match, so that no input makes these patterns backtrack for long."""

from __future__ import annotations

import re
from collections.abc import Iterator

# A value in quotes, else one run without spaces. `<` ends a run, which keeps placeholders whole.
_VALUE = r"""(?:"[^"\n<]{1,512}"|'[^'\n<]{1,512}'|[^\s"'<>,;&]{3,512})"""
_NAME = (
    r"pass(?:word|wd|phrase|code)|pwd|secret|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|signing[_-]?key|account[_-]?key|(?:access|auth|refresh|session|id|bearer|csrf)[_-]?token"
    r"|client[_-]?secret|x-amz-signature|x-api-key|contraseña|passwort|kennwort|mot de passe"
)

_PATTERNS = (
    # One block as a whole; a cut one to the end of its base64.
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[A-Za-z0-9+/=\s:,.\\-]{0,20000}",
    r"\beyJ[\w-]{8,4096}\.[\w-]{4,8192}(?:\.[\w-]{0,4096}){0,3}",  # JWT, JWE
    r"\b(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA)[0-9A-Z]{16}\b",
    r"\bgh[pousr]_[A-Za-z0-9]{20,255}",
    r"\bgithub_pat_\w{20,255}",
    r"\bglpat-[\w-]{16,255}",
    r"\bxox[a-z]-[\w-]{10,255}",
    r"\bxapp-[\w-]{10,255}",
    r"\bAIza[\w-]{30,64}",
    r"\bya29\.[\w-]{20,512}",
    r"\b(?:sk|rk|pk|whsec)_(?:live|test)?_?[A-Za-z0-9]{16,255}",
    r"\bsk-[A-Za-z0-9_-]{16,255}",
    r"\b(?:npm|hf|dop_v1|shpat|shpss|pat|lin_api|figd|rnd)_[A-Za-z0-9]{20,255}",
    r"\bpypi-[\w-]{16,512}",
    r"\bSG\.[\w-]{16,64}\.[\w-]{16,128}",
    r"\bSK[0-9a-f]{32}\b",
    r"\bmem_[A-Za-z0-9]{4,32}_[\w-]{16,128}",  # our own API keys
    r"(?i:\b(?:bearer|basic|token)\s{1,3})(?=[\w+/.=~-]{0,255}[0-9=._])[\w+/.=~-]{12,4096}",
    r"(?i:\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?)(?:[A-Za-z]{3,12}\s)?[^\s\"'<>,;]{6,4096}",
    # user:password@ of any address; the host behind it stays readable.
    r"(?<=://)[^\s/@:<>]{0,128}:[^\s/@<>]{1,256}(?=@)",
    # name = value, also SECRET_API_KEY=..., "db-password": "...", ?access_token=...
    rf"(?i:{_NAME})[\w-]{{0,32}}[\"']?\s{{0,3}}(?::=|=>|=|:)\s{{0,3}}{_VALUE}",
    r"(?i:\b(?:token|pin|cvv2?|cvc2?|otp|2fa code|security code))[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
    r"(?=[^\s\"'<>,;&]{0,64}\d)[^\s\"'<>,;&]{3,512}[\"']?",
    r"(?i:\b(?:cvv2?|cvc2?|pin)(?: code| number)?(?: is)?) \d{3,6}\b",
    # "the password is hunter2", "change my password to 'x'": a word alone is no password there.
    r"(?i:\bpass(?:word|code|phrase)\s(?:is|was|to|as)\s{1,3})"
    r"(?:\"[^\"\n<]{1,128}\"|'[^'\n<]{1,128}'|(?=[^\s<]{0,64}\d)[^\s<>,;]{4,128})",
)
SECRET = re.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS))

# Any of the above needs one of these. Lower-case text, plain search: microseconds.
_TOKEN = re.compile(r"(?<![\w+/=.-])[A-Za-z0-9_+/-]{24,512}={0,2}(?![\w+/=-])")
_LABEL = re.compile(
    r"^(?P<label>[^\n]{0,80}?(?::=|=>|[:=]|\s(?:is|was|to|as)\s|(?i:bearer|basic|token)\s))\s*"
)


def find_secrets(text: str) -> Iterator[tuple[int, int]]:
    for match in SECRET.finditer(text):
        yield value_span(text, match.start(), match.end())
    for match in _TOKEN.finditer(text):
        if is_random(match.group()):
            yield match.span()


def value_span(text: str, start: int, end: int) -> tuple[int, int]:
    """`password=x`: the name stays, the value goes."""
    found = text[start:end]
    if found.startswith("-----BEGIN"):
        return start, end
    if found[:3] != "eyJ" and (label := _LABEL.match(found)) and label.end() < len(found):
        return start + label.end(), end
    return start, end


def is_random(token: str) -> bool:
    """Whether a long token looks drawn at random: all three of upper case, lower case and digits,
    changing from one to the other far more often than words in camelCase do (two in 62 signs
    differ in class with probability 0.62; in names it is below 0.35). Hex digests and UUIDs stay:
    they have two classes."""
    kinds = [_kind(character) for character in token]
    if len({*kinds} - {""}) < 3:
        return False
    changes = sum(1 for one, two in zip(kinds, kinds[1:], strict=False) if one != two)
    return changes / (len(kinds) - 1) >= 0.42


def _kind(character: str) -> str:
    if character.isdigit():
        return "d"
    if character.isupper():
        return "U"
    return "l" if character.islower() else ""
