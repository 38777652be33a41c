"""A POST to an address that a person typed: never to this installation's own network.

The name is resolved once, every address it has is judged, and the connection goes to the one that
was judged, so that a second answer of the name server changes nothing. No redirect is followed, and
the answer's body is not read.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

import httpx
from django.conf import settings

SECONDS = 10.0
_PORTS = {"http": 80, "https": 443}


class BadAddressError(ValueError):
    """The text is no http or https address with a host, or holds a name and password."""


class PrivateAddressError(Exception):
    """The host lies in a private network, on this machine, or nowhere."""


class NotDeliveredError(Exception):
    """`code` is short and holds nothing of the answer, so it can be stored."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def read_address(url: str) -> SplitResult:
    """Raises BadAddressError."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise BadAddressError from error
    if not usable or parts.username is not None or any(c <= " " or c == "\x7f" for c in url):
        raise BadAddressError
    return parts


def post(url: str, *, body: bytes, headers: Mapping[str, str]) -> None:
    """Raises BadAddressError, PrivateAddressError, NotDeliveredError."""
    parts = read_address(url)
    host, port = str(parts.hostname), parts.port or _PORTS[parts.scheme]
    address = _judged(host, port)
    literal = f"[{address}]" if address.version == 6 else str(address)
    target = parts._replace(netloc=f"{literal}:{port}", fragment="").geturl()
    named = host if parts.port is None else f"{host}:{port}"
    try:
        # the environment's proxies would connect to what was not judged
        with (
            httpx.Client(follow_redirects=False, timeout=SECONDS, trust_env=False) as client,
            client.stream(
                "POST",
                target,
                content=body,
                headers={**headers, "Host": named, "Accept-Encoding": "identity"},
                extensions={"sni_hostname": host},
            ) as answer,
        ):
            status = answer.status_code
    except httpx.TimeoutException as error:
        raise NotDeliveredError("timeout") from error
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise NotDeliveredError("unreachable") from error
    if not 200 <= status < 300:
        raise NotDeliveredError(f"status_{status}")


def _judged(host: str, port: int) -> IPv4Address | IPv6Address:
    """Return an address of the host, all of which may be reached."""
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotDeliveredError("unknown_host") from error
    found = [ip_address(str(answer[4][0]).partition("%")[0]) for answer in answers]
    if not found or not (settings.HOOKS_PRIVATE or all(map(_is_public, found))):
        raise PrivateAddressError(host)
    return found[0]


_NAT64 = ip_network("64:ff9b::/96")


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    """An IPv4 address in the clothes of an IPv6 one is judged as what it is."""
    judged = address
    if isinstance(address, IPv6Address):
        inside = IPv4Address(int(address) & 0xFFFF_FFFF) if address in _NAT64 else None
        judged = address.ipv4_mapped or address.sixtofour or inside or address
    return judged.is_global and not judged.is_multicast
