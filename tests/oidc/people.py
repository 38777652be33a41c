"""People with a browser: out to the provider, through its own forms, and back."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import urljoin

import httpx

_FORM = re.compile(r'<form[^>]*action="([^"]+)"')
_PROMPT = re.compile(r'name="prompt" value="(\w+)"')


@dataclass(slots=True)
class Idp:
    issuer: str
    console: str
    control: httpx.Client
    people: dict[str, dict[str, object]] = field(default_factory=dict)

    def knows(self, subject: str, *groups: str, **claims: object) -> None:
        self.people[subject] = {"groups": list(groups), **claims}
        self.misbehaves("")

    def misbehaves(self, how: str) -> None:
        told = {"people": self.people, "misbehaves": how}
        assert self.control.post(f"{self.issuer}/control", json=told).status_code == 204

    def leave(self, browser: httpx.Client, onward: str = "/apps/") -> httpx.Response:
        """Go from our sign-in page to the provider's, as a browser would."""
        return self.follow(
            browser, browser.get(f"{self.console}/sign-in/provider/", params={"next": onward})
        )

    def sign_in(
        self, browser: httpx.Client, subject: str, onward: str = "/apps/"
    ) -> httpx.Response:
        return self.through(browser, self.leave(browser, onward), subject)

    def through(self, browser: httpx.Client, page: httpx.Response, subject: str) -> httpx.Response:
        """Fill in the forms of the provider until it sends the browser back."""
        for _ in range(4):
            if not str(page.url).startswith(self.issuer):
                return page
            form, prompt = _FORM.search(page.text), _PROMPT.search(page.text)
            assert form is not None, page.text
            assert prompt is not None, page.text
            sent = {"prompt": prompt[1], "login": subject, "password": "any"}
            address = urljoin(str(page.url), form[1])
            page = self.follow(browser, browser.post(address, data=sent))
        raise AssertionError(page.text)

    def follow(self, browser: httpx.Client, page: httpx.Response) -> httpx.Response:
        for _ in range(10):
            if not page.has_redirect_location:
                return page
            page = browser.get(urljoin(str(page.url), page.headers["Location"]))
        raise AssertionError("the browser goes round in circles")


def console_says(page: httpx.Response) -> str:
    """Return what the alert of our page says."""
    found = re.search(r'role="alert">.*?<span>(.*?)</span>', page.text, re.DOTALL)
    return found[1] if found else ""
