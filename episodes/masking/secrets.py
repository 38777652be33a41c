"""Keys, tokens and passwords. Every repetition is bounded, so that no input keeps a pattern busy
for long, and no value may hold `<`, so that what is masked already is left alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

# The match as a whole is the secret.
_WHOLE = (
    # A block, and one that was cut as far as its base64 goes.
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[^-]{0,20000}-----END [A-Z0-9 ]{0,60}-----"
    r"|(?:(?:\\n|\s){0,4}[A-Za-z0-9+/=]{20,100}){0,400})",
    r"\beyJ[\w-]{8,4096}\.[\w-]{4,8192}(?:\.[\w-]{0,4096}){0,3}",  # JWT and JWE
    r"\b(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA)[0-9A-Z]{16}\b",
    r"\bgh[pousr]_[A-Za-z0-9]{20,255}",
    r"\bgithub_pat_\w{20,255}",
    r"\bglpat-[\w-]{16,255}",
    r"\bxox[a-z]-[\w-]{10,255}",
    r"\bxapp-[\w-]{10,255}",
    r"\bAIza[\w-]{30,64}",
    r"\bya29\.[\w-]{20,512}",
    r"\b[srp]k_(?:live|test)_[A-Za-z0-9]{10,255}",
    r"\bwhsec_[A-Za-z0-9+/=]{16,255}",
    r"\bsk-(?=[\w-]{0,64}\d)[\w-]{16,255}",
    r"\b(?:npm|hf|dop_v1|shpat|shpss|lin_api|figd)_[A-Za-z0-9]{20,255}",
    r"\bpypi-[\w-]{16,512}",
    r"\bSG\.[\w-]{16,64}\.[\w-]{16,128}",
    r"\bSK[0-9a-f]{32}\b",
    r"\bmem_[A-Za-z0-9]{4,32}_[\w-]{16,128}",  # our own API keys
)

_NAME = (
    r"pass(?:word|wd|phrase|code)|pwd|secret|api[ _-]?key|access[ _-]?key|private[ _-]?key"
    r"|(?:signing|encryption|account|shared|master)[ _-]?key|credentials?"
    r"|(?:access|auth|refresh|session|id|bearer|csrf|bot)[ _-]?token"
    r"|x-amz-signature|x-amz-security-token|contraseña|passwort|kennwort|mot de passe"
)
_SCHEME = r"(?:bearer|basic|digest|token|negotiate|apikey)"
_QUOTED = r"(?:\"[^\"\n<]{1,512}\"|'[^'\n<]{1,512}')"
_RUN = r"[^\s\"'<>,;&]"

# The one group is the secret; the name before it stays.
_NAMED = (
    rf"(?i:\bauthorization[\"']?\s{{0,3}}[:=]\s{{0,3}}[\"']?(?:{_SCHEME}\s{{1,3}})?)"
    rf"(?!(?i:{_SCHEME})\b)({_RUN}{{6,4096}})",
    r"(?i:\b(?:bearer|basic|token)\s{1,3})((?=[\w+/.=~-]{0,255}[0-9=.])[\w+/.=~-]{16,4096})",
    # The password of an address; scheme, user and host stay readable.
    r"://[^\s/@:<>]{0,128}:([^\s/@<>]{1,256})@",
    # SECRET_API_KEY=..., "db-password": "...", ?access_token=...
    rf"(?i:(?:{_NAME})[\w-]{{0,32}}[\"']?\s{{0,3}}(?::=|=>|=|:)\s{{0,3}})"
    rf"({_QUOTED}|{_RUN}{{3,512}})",
    # Names that mean other things too: only with a digit in the value.
    r"(?i:\b(?:token|sig|signature|pin|otp|cvv2?|cvc2?|security[_ ]code)"
    r"[\"']?\s{0,3}[:=]\s{0,3}[\"']?)"
    rf"((?={_RUN}{{0,64}}\d){_RUN}{{3,512}})",
    r"(?i:\b(?:cvv2?|cvc2?|pin|otp)(?: code| number)?(?: is)?) (\d{3,8})\b",
    # "the password is hunter2", "set my password to 'x'": a bare word is no password there.
    r"(?i:\bpass(?:word|code|phrase)\s(?:is|was|to|as)\s{1,3})"
    rf"({_QUOTED}|(?={_RUN}{{0,64}}\d){_RUN}{{4,128}})",
)
_WHOLE_RULE = re.compile("|".join(_WHOLE))
_NAMED_RULE = re.compile("|".join(_NAMED))
_LONG_TOKEN = re.compile(r"(?<![\w+/=.-])[\w+/-]{24,512}={0,2}(?![\w+/=-])", re.ASCII)

# The rules cost most of a microsecond per character. No whole secret is without a run like this
# and no named one without one of these words, and most texts have neither.
_RUN_OF_A_TOKEN = re.compile(r"[\w+/-]{15}|-----BEGIN", re.ASCII)
_WORDS = (
    *("pass", "pwd", "key", "token", "secret", "credential", "contraseña", "kennwort"),
    *("mot de", "bearer", "basic", "authorization", "://", "signature", "sig", "pin", "otp"),
    *("cvv", "cvc", "security"),
)


def find_secrets(text: str) -> Iterator[tuple[int, int]]:
    if _RUN_OF_A_TOKEN.search(text):
        for match in _WHOLE_RULE.finditer(text):
            yield match.span()
        for match in _LONG_TOKEN.finditer(text):
            if _is_random(match.group()):
                yield match.span()
    lower = text.lower()
    if any(word in lower for word in _WORDS):
        for match in _NAMED_RULE.finditer(text):
            yield match.span(match.lastindex or 0)


def _is_random(token: str) -> bool:
    """Whether a token looks drawn at random: it has upper case, lower case and digits, and changes
    between them far more often than names in camelCase do (about 0.62 of the places in random
    base62, below 0.35 in names). Hex digests and UUIDs have two classes and stay."""
    classes = [_class(character) for character in token]
    if not {"upper", "lower", "digit"} <= {*classes}:
        return False
    return sum(one != two for one, two in pairwise(classes)) / (len(classes) - 1) >= 0.42


def _class(character: str) -> str:
    if character.isdigit():
        return "digit"
    if character.isupper():
        return "upper"
    return "lower" if character.islower() else "sign"
