"""An evidence file, read back: is it what was exported? Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

from curation.evidence.package import Item, Package, objections


class NoEvidenceError(ValueError):
    """The file is no evidence file, or one that was cut."""


@dataclass(frozen=True, slots=True)
class Checked:
    """`objections`: what is wrong; none: every hash holds."""

    manifest: Mapping[str, Any]
    sha256: str
    n: int
    objections: Sequence[str]


def check_file(text: str) -> Checked:
    """Check an exported JSON or HTML file. Raises NoEvidenceError."""
    try:
        is_html = text.lstrip().startswith("<")
        items, manifest, sha256 = _from_html(text) if is_html else _from_json(text)
        package = Package({}, [Item(one["id"], one["kind"], one["content"]) for one in items])
        found = list(objections(package, manifest, sha256))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise NoEvidenceError from error
    return Checked(manifest, sha256, len(package.items), found)


_Read = tuple[Sequence[Mapping[str, Any]], Mapping[str, Any], str]


def _from_json(text: str) -> _Read:
    whole = json.loads(text)
    return whole["items"], whole["manifest"], whole["manifest_sha256"]


def _from_html(text: str) -> _Read:
    parser = _Blocks()
    parser.feed(text)
    [(told, manifest)] = [block for block in parser.blocks if block[0].get("data-manifest")]
    items = [
        {
            "id": attributes["data-item"],
            "kind": attributes["data-kind"],
            "content": json.loads(content),
        }
        for attributes, content in parser.blocks
        if attributes.get("data-item")
    ]
    return items, json.loads(manifest), str(told["data-manifest"])


class _Blocks(HTMLParser):
    """The `pre` blocks of a document, with their attributes."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[tuple[dict[str, str | None], str]] = []
        self._open: dict[str, str | None] | None = None
        self._text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "pre":
            self._open, self._text = dict(attrs), []

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre" and self._open is not None:
            self.blocks.append((self._open, "".join(self._text)))
            self._open = None
