"""What a test reads of an answer: text and attributes, as a browser would find them."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

# Where one word ends for who reads or hears the page; `bdi` and `strong` are inside one.
_APART = {"div", "p", "dd", "dt", "li", "td", "th", "tr", "label", "summary", "span", "title"}
_VOID = {"meta", "link", "input", "img", "br", "hr", "wbr", "rect", "line", "use", "path"}


class Element:
    def __init__(self, tag: str, attributes: dict[str, str | None]) -> None:
        self.tag = tag
        self.attributes = attributes
        self.text = ""

    def __getitem__(self, name: str) -> str:
        return self.attributes.get(name) or ""

    def __repr__(self) -> str:
        return f"<{self.tag} {self.attributes}>"


class Page(HTMLParser):
    """Every element of an answer in order, each with all the text inside it."""

    def __init__(self, answer: Any) -> None:
        super().__init__(convert_charrefs=True)
        self.status: int = answer.status_code
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.source: str = answer.content.decode()
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        self._part(tag)
        self.elements.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, dict(attrs)))

    def _part(self, tag: str) -> None:
        if tag in _APART:
            self.handle_data(" ")

    def handle_endtag(self, tag: str) -> None:
        self._part(tag)
        if any(element.tag == tag for element in self._open):
            while self._open.pop().tag != tag:
                pass

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def all(self, tag: str = "", **attributes: str) -> list[Element]:
        """Return the elements with these attributes; `class_` is one of the classes."""
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [
            element
            for element in self.elements
            if (not tag or element.tag == tag)
            and all(
                value in element["class"].split() if name == "class" else element[name] == value
                for name, value in wanted.items()
            )
        ]

    def texts(self, tag: str = "", **attributes: str) -> list[str]:
        return [" ".join(element.text.split()) for element in self.all(tag, **attributes)]

    @property
    def text(self) -> str:
        return " ".join(self.elements[0].text.split()) if self.elements else ""
