"""Letters and digits alone, as a reader takes them: one case, no accents, Cyrillic and Greek letters
that are drawn like Latin ones as those. `j.o h-n  DÖE` and `Јohn doe` have one skeleton."""

from __future__ import annotations

import unicodedata

_DRAWN_ALIKE = str.maketrans(
    {
        # Cyrillic
        **dict(zip("аеорсухіјѕԁһӏԛԝвкмнтґ", "aeopcyxijsdhlqwbkmhtr", strict=True)),
        # Greek
        **dict(zip("οραντυικηεχγβ", "opavtuiknexyb", strict=True)),
        # Latin letters that do not come apart into a plain one and a mark
        **dict(zip("ıøłđħŧ", "ioldht", strict=True)),
        "æ": "ae",
        "œ": "oe",
        "ð": "d",
        "þ": "th",
    }
)


class _Bones(dict[int, str]):
    """Fills itself, at most once per code point: `str.translate` then runs at C speed."""

    def __missing__(self, code: int) -> str:
        bone = self[code] = _bone(chr(code))
        return bone


def _bone(character: str) -> str:
    if (digit := unicodedata.decimal(character, None)) is not None:
        return str(digit)
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    return "".join(one for one in plain.translate(_DRAWN_ALIKE) if one.isalnum())


_BONES = _Bones()


def bones(text: str) -> str:
    return text.translate(_BONES)


def bones_and_origins(text: str) -> tuple[str, list[int]]:
    """The skeleton, and per character of it the index in `text` that it comes from."""
    origins: list[int] = []
    for index, character in enumerate(text):
        origins += [index] * len(_BONES[ord(character)])
    return bones(text), origins
