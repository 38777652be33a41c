"""Postal addresses. A street with its number, a flat or a box is an anchor; what hangs on it to the
left (more numbers, the house) and to the right (flat, town, region, code, country) goes with it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from curation.anonymise.language import is_common
from curation.anonymise.lists import places
from curation.anonymise.skeleton import bones
from curation.anonymise.spans import Span
from episodes.stopwords import STOP_WORDS

_GAP = r"[ \t]{1,2}"
_NUMBER = r"\d{1,6}(?:[-/]\d{1,4})?[A-Za-z]?"
_CAPITAL = r"[^\W\d_a-zß-öø-ÿ][\w'’-]{0,40}\.?"
_PARTICLE = r"(?:de|la|del|du|des|do|da|dos|di|van|der|den|von|of|the|y|e|el|al|os|las|los|i|w|na)"
_NAME = rf"(?:{_CAPITAL}|{_PARTICLE})"
_ANY = r"[^\W\d_][\w.'’-]{0,40}"

# 12 Main Street; small letters too, where the last word is a street and hardly anything else.
_STREET = (
    r"(?i:street|str|avenue|road|lane|drive|boulevard|blvd|terrace|crescent|parkway|highway|rd)"
)
_WAY = (
    r"(?:St|ST|Ave|AVE|Av|Ln|Dr|DR|Ct|Court|Pl|Place|Square|Sq|Way|Close|Gardens?|Grove|Pkwy|Hwy"
    r"|Freeway|Row|Mews|Circle|Cir|Trail|Parks?|Gateway|Quay|Alley|Plaza|Walk|Hill|Heights|Loop"
    r"|Crossing|Bend|Ridge|Rise|Parade|Esplanade|Point|Points|Creek|utca|u|út|tér|körút|tie)"
)
# Calle Mayor 3, rue de la Paix 5, ul. Zielona 8
_BEFORE = (
    r"(?:[Rr]ue|RUE|Avenue|[Bb]oulevard|[Cc]hemin|[Aa]llée|[Ii]mpasse|Quai|Route|Via|Viale|Corso"
    r"|Piazza|Strada|Contrada|Vicolo|Largo|[Cc]alle|C/|Avenida|Avda?\.|Av\.|Paseo|Plaza|Carretera"
    r"|Camino|Ronda|Rua|Rúa|R|Travessa|Praça|Estrada|[Uu]l\.|[Uu]lica|[Aa]l\.|Aleja|[Oo]s\.|Plac"
    r"|Jalan|Jl\.|улица|ул\.|проспект|пр\.|переулок|пер\.)"
)
# Hauptstraße 5, Kiannonkatu 98, Storgata 3
_JOINED = (
    r"[^\W\d_][\w.'’-]{1,40}(?:stra(?:ß|ss)e|str\.|gasse|weg|allee|platz|damm|ufer|ring|straat|laan"
    r"|gracht|plein|kade|vej|gade|gata|gatan|vägen|väg|veien|vegen|veg|katu|tie|polku|kuja|gränd"
    r"|plads|stræde|alle|allé|stien|braut|vegur|stígur|götu|utca|ulica)"
)
_UNIT = (
    r"(?i:apt|apartment|suite|ste|unit|flat|bldg|building|dept|piso|puerta|wohnung|lägenhet)"
    r"\b\.?[ ]?#?[ ]?(?:[A-Za-z]?\d{1,5}[A-Za-z]?|[A-Z])\b"
)
_BOX = (
    r"(?:(?i:p\.? ?o\.? ?box|postbox|post office box|postfach|apartado(?: de correos)?"
    r"|bo[iî]te postale|casella postale)|Box|(?i:psc|cmr))[ ]?\d{1,6}"
)
_ANCHORS = tuple(
    re.compile(rule)
    for rule in (
        rf"(?<![\w.-]){_NUMBER}{_GAP}(?:{_ANY}{_GAP}){{1,3}}?{_STREET}\b\.?(?:{_GAP}{_NUMBER}(?!\w))?",
        rf"(?<![\w.-]){_NUMBER}{_GAP}(?:{_NAME}{_GAP}){{1,4}}?{_WAY}\b\.?(?:{_GAP}{_NUMBER}(?!\w))?",
        rf"(?<![\w.-])(?:{_NAME}{_GAP}){{1,4}}?(?:{_WAY}|{_STREET})\b\.?,?{_GAP}{_NUMBER}(?!\w)",
        rf"(?<![\w-]){_BEFORE}{_GAP}(?:{_NAME}{_GAP}){{0,5}}?{_NAME},?{_GAP}{_NUMBER}(?!\w)",
        rf"(?<![\w.-]){_NUMBER},?{_GAP}{_BEFORE}{_GAP}(?:{_NAME}{_GAP}){{0,4}}{_CAPITAL}",
        rf"(?<![\w-])(?:{_NAME}{_GAP}){{0,2}}{_JOINED}{_GAP}{_NUMBER}(?!\w)",
        rf"(?<!\w){_UNIT}(?!\w)",
        rf"(?<!\w){_BOX}(?!\w)",
        r"(?<!\w)[ADF]PO (?:A[AEP]) \d{5}(?!\w)",
    )
)
_CODES = (
    re.compile(r"(?<!\w)[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}(?!\w)"),  # SW1A 1AA
    re.compile(r"(?<!\w)[A-Z]\d[A-Z] \d[A-Z]\d(?!\w)"),  # K1A 0B1
    re.compile(
        r"(?<!\w)(?:A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]"
        r"|PA|RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY]),? \d{5}(?:-\d{4})?(?!\w)"
    ),
    re.compile(
        r"(?i:\b(?:zip|post(?:al)?|plz)(?: ?-?code)?\b(?: is)?)[^\w<\n]{1,4}"
        r"([A-Z]?\d[A-Z\d -]{2,8}\d)(?!\w)"
    ),
)
# A house and a street that no word calls one: 329 Arenales 94, Dlouhá 12 before 110 00 Praha.
_UNCALLED = (
    re.compile(
        rf"(?<![\w.-]){_NUMBER}{_GAP}(?P<name>(?:{_NAME}{_GAP}){{1,4}}?){_NUMBER}(?![\w/:-])"
    ),
    re.compile(
        rf"(?<![\w.-])(?P<name>(?:{_NAME}{_GAP}){{1,4}}?){_NUMBER}[,\n][ \t]{{0,3}}"
        rf"(?:[A-Z]{{1,2}}-)?\d{{3,5}}(?: \d\d)?{_GAP}{_CAPITAL}"
    ),
)
_TOWN = re.compile(
    rf"(?<![\w.,-])(?!(?:19|20)\d\d )\d{{4,5}} (?P<town>{_CAPITAL}(?: {_CAPITAL})?)(?!\w)"
)
# Words that call for an address: what follows is one if it holds a number.
_CALLS = re.compile(
    r"(?i:\b(?:liv(?:e|es|ed|ing) (?:at|in|on)|resid(?:e|es|ing) (?:at|in)|moved to|(?:is|are) at"
    r"|(?:deliver(?:ed)?|ship(?:ped)?|send|sent|mail(?:ed)?|return|taxi|drive|come|go) (?:it |them )?to"
    r"|address(?:es)?(?: (?:is|are|was|with|to|on file is))?(?: now)?|here they are"
    r"|the corner of)\b:?)[ \t\n]{1,3}(?=[\w])"
)
_CALLED = re.compile(
    rf"(?:the corner of )?(?:{_NUMBER}|{_NAME})(?:(?:,? | and |, and )(?:{_NUMBER}|{_NAME})){{1,8}}"
)
_CORNER = re.compile(rf"(?i:the corner of) {_NAME}(?:(?: and)? (?:{_NUMBER}|{_NAME})){{1,8}}")
_FULL_STOP = re.compile(r"[^\W\d_]{4}\.\Z|\d\.\Z")  # of the sentence, not of `Str.`
_LETTERS = re.compile(r"[^\W\d_]+")
_HAS_NUMBER = re.compile(r"\d")

# To the left, on the line: numbers and names, as far as the farthest number.
_LEFT = re.compile(rf"(?:{_NUMBER},?{_GAP})(?:(?:{_NUMBER}|{_NAME}|St),?{_GAP}){{0,5}}\Z")
_REACH = 120  # characters
# To the right: flat, code, region, town or country, each after a comma, a break or a space.
_PART = re.compile(
    rf"(?P<gap>[ \t]{{0,3}}[,\n]?[ \t\n>,]{{0,6}})"
    rf"(?:{_UNIT}|{_BOX}|(?P<code>(?:[A-Z]{{1,3}}-)?\d[\dA-Z]{{1,5}}(?:[ -]\d[\dA-Z]{{1,3}})?)"
    rf"|nan|(?P<town>{_CAPITAL}(?: (?:{_NAME}|[(]{_CAPITAL}[)])){{0,4}}))(?![\w:@]|\.\w)"
)
_MOST_PARTS = 7


def find_addresses(text: str) -> Iterator[Span]:
    for rule in _ANCHORS:
        for match in rule.finditer(text):
            if not _is_speech(match.group()):
                yield _extended(text, *match.span(), "address_line")
    for rule in _CODES:
        for match in rule.finditer(text):
            yield Span(*match.span(match.lastindex or 0), "address", "address_code")
    for rule in _UNCALLED:
        for match in rule.finditer(text):
            words = _LETTERS.findall(match["name"].lower())
            if not any(map(is_common, words)):
                yield _extended(text, *match.span(), "address_line")
    for match in _TOWN.finditer(text):
        if bones(match["town"]) in places() or bones(match["town"].split()[0]) in places():
            end = _without_full_stop(text, *match.span())
            yield Span(match.start(), end, "address", "address_code")
    for call in _CALLS.finditer(text):
        called = _CALLED.match(text, call.end())
        if called and _HAS_NUMBER.search(called.group()) and not _is_speech(called.group()):
            yield _extended(text, *called.span(), "address_called")
    for match in _CORNER.finditer(text):
        yield _extended(text, *match.span(), "address_called")


def _is_speech(found: str) -> bool:
    """`2 of the items on the road`: words of talk between number and street."""
    words = _LETTERS.findall(found)
    return any(
        word.islower() and word in STOP_WORDS and not re.fullmatch(_PARTICLE, word)
        for word in words
    ) or (words[:1] != [] and words[0].lower() in STOP_WORDS and len(words[0]) > 3)


def _extended(text: str, start: int, end: int, rule: str) -> Span:
    line = text[max(0, start - _REACH) : start].rpartition("\n")[2]
    if (left := _LEFT.search(line)) is not None:
        start -= len(line) - left.start()
    for _ in range(_MOST_PARTS):
        part = _PART.match(text, end)
        if part is None or not _continues(part):
            break
        end = part.end()
    return Span(start, _without_full_stop(text, start, end), "address", rule)


def _without_full_stop(text: str, start: int, end: int) -> int:
    return end - 1 if _FULL_STOP.search(text[max(start, end - 5) : end]) else end


def _continues(part: re.Match[str]) -> bool:
    gap, town = part["gap"], part["town"]
    if not gap:
        return False
    if town is None:
        return part["code"] is None or len(part["code"]) > 2
    # on the same line without a comma a capital may begin something else
    return (town.split()[0].lower() not in STOP_WORDS) and gap.count("\n") < 3
