"""Given names, family names and places of about ninety countries, out of the lists of Faker.

Read from its provider classes as data: nothing is generated. All are skeletons (skeleton.py), so
that accents and case do not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from curation.anonymise.skeleton import bones

_GIVEN = re.compile(r"(?:first|middle)_(?:romanized_)?names?(?:_|$)")
_FAMILY = re.compile(r"(?:^|_)last_(?:romanized_)?names?(?:_|$)|surname")
_PLACE = re.compile(r"^(?:cities|city_names|real_city_names|countries|states?|provinces|counties)$")
_WORD = re.compile(r"[^\W\d_]+")


@cache
def given_names() -> frozenset[str]:
    return frozenset(_single(_listed("person", _GIVEN)))


@cache
def family_names() -> frozenset[str]:
    return frozenset(_single(_listed("person", _FAMILY)))


@cache
def places() -> frozenset[str]:
    """Countries, states and cities, each as a whole: `sanjuancapistrano`."""
    return frozenset(
        found for place in _listed("address", _PLACE) if len(found := bones(place)) > 2
    )


def _single(names: Iterable[str]) -> Iterator[str]:
    """The words of names; a word of one or two letters is a particle or says too little."""
    for name in names:
        for word in _WORD.findall(name):
            if len(found := bones(word)) > 2 or (found and not found.isascii()):
                yield found


def _listed(provider: str, wanted: re.Pattern[str]) -> Iterator[str]:
    package = import_module(f"faker.providers.{provider}")
    for module in iter_modules(package.__path__):
        if not module.ispkg:
            continue
        source = import_module(f"{package.__name__}.{module.name}").Provider
        for attribute in dir(source):
            if wanted.search(attribute):
                yield from _texts(getattr(source, attribute))


def _texts(listed: object) -> Iterator[str]:
    """A list of words, of weighted words, or of (code, word)."""
    if isinstance(listed, str):
        yield listed
    elif isinstance(listed, Iterable) and not isinstance(listed, bytes):
        for one in listed:
            yield from _texts(one)
