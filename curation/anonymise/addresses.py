"""Postal addresses: a house number beside a word for a street, and what hangs on it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from curation.anonymise.spans import Span

_NUMBER = r"\d{1,6}(?:[-/]\d{1,4})?[A-Za-z]?"
_NAME = r"[^\W\d_][\w.'’-]{0,40}"
_GAP = r"[ \t]{1,2}"

# After a name: 12 Main Street. Before it: Calle Mayor 3. Joined to it: Hauptstraße 5.
_AFTER = (
    r"(?i:street|st|road|rd|avenue|ave|av|lane|ln|drive|dr|court|ct|place|pl|square|sq|boulevard"
    r"|blvd|way|terrace|crescent|close|gardens?|grove|parkway|pkwy|highway|hwy|freeway|row|mews"
    r"|circle|cir|trail|parks?|gateway|quay|alley|plaza|walk|hill|heights|utca|u|út|tér|körút"
    r"|katu|tie|gade|gata|vej|väg)\b\.?"
)
_BEFORE = (
    r"(?i:rue|avenue|boulevard|chemin|allée|impasse|quai|place|route|via|viale|corso|piazza|strada"
    r"|calle|c/|avenida|avda?\.|paseo|plaza|carretera|camino|rua|rúa|travessa|praça|ul\.|ulica|al\."
    r"|aleja|os\.|plac|jalan|jl\.|улица|ул\.|проспект|пр\.|contrada|vicolo|largo)"
)
_JOINED = (
    r"[^\W\d_][\w.'’-]{1,40}(?i:stra(?:ß|ss)e|str\.|gasse|weg|allee|platz|damm|ufer|ring|straat|laan"
    r"|gracht|plein|kade|vej|gade|gata|gatan|vägen|veien|vegen|katu|tie|polku|gränd|plads|stræde"
    r"|alle|allé|stien|braut|vegur|stígur|götu|utca|ulica)"
)
_UNIT = (
    r"(?i:apt|apartment|suite|ste|unit|flat|room|floor|fl|bldg|building|dept|piso|puerta|door"
    r"|wohnung|lägenhet|office)\b\.?[ ]?#?[ ]?[A-Za-z]?\d{1,5}[A-Za-z]?"
)
_BOX = (
    r"(?i:p\.? ?o\.? ?box|postbox|post office box|postfach|apartado|bo[iî]te postale|casella postale"
    r"|box|psc|unit|cmr)[ ]?\d{1,6}"
)
_STREETS = (
    re.compile(
        rf"(?<![\w.-]){_NUMBER}{_GAP}(?:{_NAME}{_GAP}){{1,4}}?{_AFTER}(?:{_GAP}{_NUMBER})?(?!\w)"
    ),
    re.compile(
        rf"(?<![\w-])(?:{_NUMBER}{_GAP})?{_BEFORE}{_GAP}(?:{_NAME}{_GAP}){{0,4}}?(?:{_NAME})?"
        rf",?{_GAP}{_NUMBER}(?!\w)"
    ),
    re.compile(rf"(?<![\w-])(?:{_NUMBER}{_GAP})?(?:{_NAME}{_GAP})?{_JOINED}{_GAP}{_NUMBER}(?!\w)"),
    re.compile(rf"(?<!\w){_UNIT}(?!\w)"),
    re.compile(rf"(?<!\w){_BOX}(?!\w)"),
)
_POSTCODES = (
    re.compile(r"(?<!\w)[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}(?!\w)"),  # SW1A 1AA
    re.compile(r"(?<!\w)[A-Z]\d[A-Z] \d[A-Z]\d(?!\w)"),  # K1A 0B1
    re.compile(r"(?<!\w)(?:[A-Z]{2} )?\d{5}-\d{4}(?!\w)"),
    re.compile(
        r"(?<!\w)(?:AP|AE|AA|A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]"
        r"|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY]) \d{5}(?!\w)"
    ),
)
_NAMED = re.compile(
    r"(?i:\b(?:zip|post(?:al)?|plz)(?: ?-?code)?\b(?: is)?)[^\w<\n]{1,4}([A-Z]?\d[A-Z\d -]{2,8}\d)(?!\w)"
)


def find_addresses(text: str) -> Iterator[Span]:
    for rule in _STREETS:
        for match in rule.finditer(text):
            yield Span(*match.span(), "address", "address_line")
    for rule in _POSTCODES:
        for match in rule.finditer(text):
            yield Span(*match.span(), "address", "address_code")
    for match in _NAMED.finditer(text):
        yield Span(*match.span(1), "address", "address_code")
