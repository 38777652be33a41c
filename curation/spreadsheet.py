"""Lines of CSV that a spreadsheet shows and does not reckon with. Pure."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from io import StringIO

# What a spreadsheet takes for a formula, also behind blanks and in full-width letters. Text that
# begins so gets an apostrophe, which spreadsheets take for "this is text"; so does what begins so
# behind a semicolon or a tab, where half of the world's spreadsheets begin another cell.
_BEGINS = r"[=+\-@\uff0b\uff0d\uff1d\uff20|%]"
_FORMULA = re.compile(rf"\s*{_BEGINS}|[\t\r\n]")
_INNER_FORMULA = re.compile(rf"""(;|(?!^)\t)(?=[\s"']*{_BEGINS})""")


def csv_line(values: Iterable[object]) -> str:
    """Return one line, each field quoted."""
    written = StringIO()
    csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerow(map(guarded, values))
    return written.getvalue()


def guarded(value: object) -> str:
    text = _INNER_FORMULA.sub(r"\1'", str(value))
    return f"'{text}" if _FORMULA.match(text) else text
