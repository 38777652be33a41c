"""The identity provider that people sign in through (OpenID Connect), read from the environment.

Set whole or not at all: half of it stops the program.
"""

from __future__ import annotations

import ipaddress
import json
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from memoryadmin.lib import env

ROLES = ("viewer", "reviewer", "curator", "compliance", "admin")
SUPERUSER = "superuser"
_WHY = "MEMORYADMIN_OIDC_* is set whole or not at all"


@dataclass(frozen=True, slots=True)
class Grant:
    """Members of `group` have `role` in the app named `app`; with '' they are superusers."""

    group: str
    app: str
    role: str


@dataclass(frozen=True, slots=True)
class Provider:
    issuer: str
    client_id: str
    client_secret: str
    grants: tuple[Grant, ...]
    scopes: str
    groups_claim: str
    name_claim: str
    label: str  # of the button


def read_provider() -> Provider | None:
    """Return None where nothing of it is set. Raises ImproperlyConfigured."""
    issuer = env.url("MEMORYADMIN_OIDC_ISSUER", schemes=("https", "http"))
    client_id = env.text("MEMORYADMIN_OIDC_CLIENT_ID")
    client_secret = env.text("MEMORYADMIN_OIDC_CLIENT_SECRET")
    roles = env.text("MEMORYADMIN_OIDC_ROLES")
    optional = {
        "scopes": env.text("MEMORYADMIN_OIDC_SCOPES"),
        "groups_claim": env.text("MEMORYADMIN_OIDC_GROUPS_CLAIM"),
        "name_claim": env.text("MEMORYADMIN_OIDC_NAME_CLAIM"),
        "label": env.text("MEMORYADMIN_OIDC_LABEL"),
    }
    if not any((issuer, client_id, client_secret, roles, *optional.values())):
        return None
    for name in ("ISSUER", "CLIENT_ID", "CLIENT_SECRET", "ROLES"):
        env.required(f"MEMORYADMIN_OIDC_{name}", why=_WHY)
    if not is_private_or_encrypted(issuer):
        raise ImproperlyConfigured("MEMORYADMIN_OIDC_ISSUER must start with https")
    return Provider(
        issuer=issuer,
        client_id=client_id,
        client_secret=client_secret,
        grants=_grants(roles),
        scopes=optional["scopes"] or "openid profile",
        groups_claim=optional["groups_claim"] or "groups",
        name_claim=optional["name_claim"] or "preferred_username",
        label=optional["label"] or "single sign-on",
    )


def is_private_or_encrypted(address: str) -> bool:
    """Whether nobody on the way can read it: https, or a provider on this very machine."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    if parts.scheme == "https":
        return bool(host)
    try:
        is_here = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_here = host == "localhost"
    return parts.scheme == "http" and is_here


def _grants(text: str) -> tuple[Grant, ...]:
    """Read {"group": ["app:role", "superuser"], …}; the order counts."""
    name = "MEMORYADMIN_OIDC_ROLES"
    try:
        found = json.loads(text)
        listed = [
            (str(group), str(seat))
            for group, seats in found.items()
            for seat in ([seats] if isinstance(seats, str) else list(seats))
        ]
    except (ValueError, AttributeError, TypeError):
        raise ImproperlyConfigured(
            f'{name} must be JSON such as {{"curators": ["billing-agent:curator"]}}'
        ) from None
    if not listed:
        raise ImproperlyConfigured(f"{name} gives nobody a role")
    return tuple(_grant(name, group, seat) for group, seat in listed)


def _grant(name: str, group: str, seat: str) -> Grant:
    if seat == SUPERUSER:
        return Grant(group, "", SUPERUSER)
    app, _, role = seat.rpartition(":")
    if not app or role not in ROLES:
        raise ImproperlyConfigured(
            f"{name}: {seat!r} is neither superuser nor APP:ROLE with one of {', '.join(ROLES)}"
        )
    return Grant(group, app, role)
