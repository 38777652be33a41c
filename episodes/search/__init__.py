"""Search: which episodes are compared (sources), by what rule, in one statement that also logs."""

from __future__ import annotations

from episodes.search.execute import run
from episodes.search.filters import REVISION_FILTERS, asked_filters
from episodes.search.rule import CONSTANTS, TEXT
from episodes.search.statement import statement

__all__ = ["CONSTANTS", "REVISION_FILTERS", "TEXT", "asked_filters", "run", "statement"]
