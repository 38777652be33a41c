"""Patterned personal data. A shape proposes, a checksum or a word beside it decides; a bare run
of digits is an order number until something says otherwise."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from episodes.masking.cards import find_cards
from episodes.masking.phones import find_phones
from episodes.masking.recognisers import find_checksummed

Span = tuple[int, int, str]  # start, end, kind

_EMAIL_HOST = re.compile(r"@(?:[\w-]{1,63}\.){1,8}(?:xn--[\w-]{2,59}|[^\W\d_]{2,24})")
_EMAIL_NAME = re.compile(r"\w[\w.+%'-]{0,63}\Z")

# Digits that are something else: blanked before any other rule looks.
_HARMLESS = re.compile(
    r"(?<![\w-])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![\w-])"  # UUID
    r"|(?<!\d)(?:19|20)\d\d[-/.](?:0?[1-9]|1[0-2])[-/.](?:0?[1-9]|[12]\d|3[01])(?!\d)"
    r"|(?<!\d)(?:0?[1-9]|[12]\d|3[01])[-/.](?:0?[1-9]|[12]\d|3[01])[-/.](?:19|20)\d\d(?!\d)"
    r"|(?i:\bv|\bversion )\d+(?:\.\d+){1,5}"
)

_CPF = re.compile(r"(?<![\w.-])\d{3}\.\d{3}\.\d{3}-\d{2}(?![\w-])")
_MAC = re.compile(r"(?<![\w:-])[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){5}(?![\w:-])")
_IPV4 = re.compile(r"(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?![\w-]|\.\d)")
_IPV6 = re.compile(
    r"(?<![\w:.])(?=[A-Fa-f:]{0,20}\d)[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:])"
)
_IBAN_NAMED = re.compile(
    r"(?i:\biban\b)[^\w<\n]{0,4}(?:is )?([A-Z]{2}\d{2}(?: ?[A-Z0-9]){8,30})(?!\w)"
)
_ID_WORDS = (
    *(
        "ssn",
        "social",
        "national",
        "nhs",
        "pesel",
        "aadha",
        "personnummer",
        "steuer",
        "idnr",
        "tax",
    ),
    *("number", "identity", "passport", "dni", "nie", "nif", "cpf", "bsn", "fiscale", "kimlik"),
    *("licen", "medicare", "versicherung", "reisepass", "personalausweis"),
)
_ID_NAMED = re.compile(
    r"(?i:\bssn\b|social (?:security|insurance)|national (?:id\b|insurance|identi)|\bnhs\b"
    r"|\bpesel\b|\baadhaa?r|personnummer|steuer-?id|\bidnr\b|\btax (?:id|file)|\bid number"
    r"|identity (?:card|number)|passport|\bdni\b|\bnie\b|\bnif\b|\bcpf\b|\bbsn\b|codice fiscale"
    r"|kimlik|driver'?s? licen[cs]e|\bmedicare|sozialversicherung|reisepass|personalausweis)"
    r"[^\d<\n]{0,24}?(\b[A-Z]{0,3}\d(?:[ .-]?[A-Z0-9]){5,15})(?!\w)"
)

# What the costlier rules cannot do without.
_ENOUGH_DIGITS = re.compile(r"\d(?:[^A-Za-z\d]{0,3}\d){5}|[A-Za-z0-9]{16}")
_ADDRESS_LIKE = re.compile(r"\d\.\d{1,3}\.\d|:[0-9A-Fa-f]{0,4}:|[0-9A-Fa-f]-[0-9A-Fa-f]{2}-")


def find_personal(text: str) -> Iterator[Span]:
    yield from _emails(text)
    numbers = _ENOUGH_DIGITS.search(text) is not None
    addresses = _ADDRESS_LIKE.search(text) is not None
    if numbers or addresses:
        text = _HARMLESS.sub(lambda match: "\x00" * len(match.group()), text)
    if numbers:
        yield from find_checksummed(text)
        yield from find_cards(text)
        yield from find_phones(text)
        yield from _matches(_CPF, "id", text)
        yield from _matches(_IBAN_NAMED, "iban", text)
        lower = text.lower()
        if any(word in lower for word in _ID_WORDS):
            yield from _matches(_ID_NAMED, "id", text)
    if addresses:
        yield from _matches(_MAC, "mac", text)
        yield from _addresses(text)


def _matches(rule: re.Pattern[str], kind: str, text: str) -> Iterator[Span]:
    for match in rule.finditer(text):
        yield *match.span(match.lastindex or 0), kind


def _emails(text: str) -> Iterator[Span]:
    """From the @ backwards and forwards: a scan from the left would try every start of a long
    run of letters."""
    if "@" not in text:
        return
    for host in _EMAIL_HOST.finditer(text):
        if name := _EMAIL_NAME.search(text[max(0, host.start() - 64) : host.start()]):
            yield host.start() - len(name.group()), host.end(), "email"


def _addresses(text: str) -> Iterator[Span]:
    """IP addresses but for those of every machine (loopback, 0.0.0.0), which tell nothing."""
    for rule in (_IPV4, _IPV6):
        for match in rule.finditer(text):
            try:
                address = ipaddress.ip_address(match.group())
            except ValueError:
                continue
            if not (address.is_loopback or address.is_unspecified):
                yield *match.span(), "ip"
