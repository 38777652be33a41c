"""Addresses of pages, accounts, dates of birth, and numbers that a word calls a card or a telephone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from curation.anonymise.spans import Span
from curation.anonymise.word_lists import words

_URL = re.compile(
    r"(?i)\b(?:https?|ftps?|sftp|wss?)://[^\s<>\"'\x00]{1,2000}|\bwww\.[^\s<>\"'\x00]{3,2000}"
)
_TRAILING = ".,;:!?)]}"
_HOST = re.compile(
    r"(?<![\w.@/\\-])(?:[a-zA-Z0-9][\w-]{0,62}\.){1,5}[a-zA-Z]{2,18}(?![\w@(-]|\.\w)(?:/[^\s<>\"'\x00]{0,2000})?",
    re.ASCII,
)
# Endings of domains that end the names of files and of classes as well.
_FILES = words(
    """
    py md sh rs pl so cc ps js ts go do zip mov name id java app dev info data run sql
    """
)

_HANDLE = re.compile(r"(?<![\w@/.])@[A-Za-z_][\w.-]{1,38}\w(?![\w@])")
_DECORATORS = words(
    """
    property staticmethod classmethod dataclass override cache media import param return
    returns throws see todo here channel everyone all types babel angular
    """
)
_ACCOUNT = re.compile(
    r"(?i:\b(?:user|screen|account|login|nick|skype|telegram|twitter|instagram|github)[ _-]?"
    r"(?:name|id|handle)\b|\bnickname|\bhandle|\blogin)"
    r"(?:\s{0,2}[:=]\s{0,2}|\s(?:is|was)\s)[\"'`]?"
    r"([^\W_][\w.+@-]{1,62}\w)"
)

_DAY = (
    r"(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"
    r"|(?:\d{1,2}(?:st|nd|rd|th)?(?: of)? )?(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
    r"[a-z]{0,6}\.? \d{1,4}(?:st|nd|rd|th)?(?:,? \d{4})?"
    r"|(?:19|20)\d\d)"
)
_BORN = re.compile(
    r"(?i:\bborn|\bdate of birth|\bd\.?o\.?b\b|\bbirth ?-?(?:date|day)|\bgeboren|\bnacid[oa]|\bnée? le"
    r"|\bnat[oa] il|\bgeburts(?:datum|tag)|\bfecha de nacimiento|\bdate de naissance)"
    rf"[^\d<\n]{{0,24}}?({_DAY})(?!\w)"
)


# The masker wants the word before the number, and a card of an issuer; here a word after it, or the
# word alone, is enough.
_PHONE_LABEL = re.compile(
    r"(?<![\w.])(\+?\(?\d(?:[ ().-]{0,2}\d){5,14})[ ]?[-(][ ]?(?i:fax|office|phone|mobile|home|work|cell|tel)\b"
)
_CARD_CALLED = re.compile(r"(?i:\bcard\b)[^\d<\n\x00]{0,40}?(?<!\d)(\d(?:[ -]?\d){11,18})(?!\w)")


def find_accounts(text: str) -> Iterator[Span]:
    for match in _PHONE_LABEL.finditer(text):
        yield Span(*match.span(1), "phone", "phone")
    for match in _CARD_CALLED.finditer(text):
        yield Span(*match.span(1), "card", "card_called")
    for match in _URL.finditer(text):
        kept = len(match.group().rstrip(_TRAILING))
        yield Span(match.start(), match.start() + kept, "url", "url")
    for match in _HOST.finditer(text):
        if _is_host(match.group().partition("/")[0]):
            kept = len(match.group().rstrip(_TRAILING))
            yield Span(match.start(), match.start() + kept, "url", "domain")
    for match in _HANDLE.finditer(text):
        if match.group()[1:].lower() not in _DECORATORS:
            yield Span(*match.span(), "account", "handle")
    for match in _ACCOUNT.finditer(text):
        yield Span(*match.span(1), "account", "account_named")
    for match in _BORN.finditer(text):
        yield Span(*match.span(1), "birth_date", "birth_date")


def _is_host(name: str) -> bool:
    found = _suffixes()(name)
    return bool(found.domain and found.suffix) and found.suffix.lower() not in _FILES


@cache
def _suffixes() -> Any:
    """The public suffix list as packaged; it never asks the network."""
    return import_module("tldextract").TLDExtract(suffix_list_urls=(), cache_dir=None)
