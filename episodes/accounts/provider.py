"""Signing in through an identity provider: OpenID Connect, authorization code with PKCE.

The provider's word is believed for what its signature covers: issuer, audience, nonce, times and
subject are compared here, and the algorithm comes from our list, not from the token or the
provider's metadata. Nothing is kept between two sign-ins, so a changed key counts at once.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

import httpx
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from episodes.accounts.identities import Person
from memoryadmin.lib import clock
from memoryadmin.lib.identity_provider import Provider, is_private_or_encrypted

# asymmetric ones only: with an HMAC whoever knows the client's secret could sign
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"]
LEEWAY = 60  # seconds that two clocks may differ
SECONDS = 10.0  # for one answer of the provider


class ProviderError(Exception):
    """The provider does not answer, or not as it should; the message is for our log."""


class RefusedError(Exception):
    """What came back is not the answer to what this browser was sent for, or is not genuine."""


@dataclass(frozen=True, slots=True)
class Departure:
    """Where the browser goes, and what it has to bring back. Kept in its session, used once."""

    address: str
    state: str
    nonce: str
    verifier: str


def depart(*, provider: Provider, redirect_uri: str) -> Departure:
    """Raises ProviderError."""
    with _asking() as client:
        endpoint = _endpoint(_metadata(client, provider), "authorization_endpoint")
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    query = urlencode(
        {
            "response_type": "code",
            "client_id": provider.client_id,
            "redirect_uri": redirect_uri,
            "scope": provider.scopes,
            "state": state,
            "nonce": nonce,
            "code_challenge": _challenge(verifier),
            "code_challenge_method": "S256",
        }
    )
    joint = "&" if "?" in endpoint else "?"
    return Departure(f"{endpoint}{joint}{query}", state, nonce, verifier)


def arrive(
    *, provider: Provider, redirect_uri: str, departure: Departure, answer: Mapping[str, str]
) -> Person:
    """Return who it is. `answer`: the query with which the browser came back.

    Raises RefusedError, ProviderError.
    """
    if not hmac.compare_digest(answer.get("state", "").encode(), departure.state.encode()):
        raise RefusedError("state")
    if answer.get("iss", provider.issuer) != provider.issuer:
        raise RefusedError("another provider's answer")
    if "error" in answer or not answer.get("code"):
        raise RefusedError("the provider let nobody in")
    with _asking() as client:
        metadata = _metadata(client, provider)
        tokens = _exchange(
            client, provider, metadata, redirect_uri, answer["code"], departure.verifier
        )
        keys = _json(client.get(_endpoint(metadata, "jwks_uri")))
        claims = verified_claims(
            tokens.get("id_token"), keys=keys, provider=provider, nonce=departure.nonce
        )
        claims = _completed(client, provider, metadata, claims, tokens)
    return _person(provider, claims)


def verified_claims(
    token: object, *, keys: Mapping[str, Any], provider: Provider, nonce: str
) -> dict[str, Any]:
    """Return the claims of an ID token that is genuine, ours, of now and of this sign-in.

    Raises RefusedError.
    """
    if not isinstance(token, str):
        raise RefusedError("no ID token")
    registry = jwt.JWTClaimsRegistry(
        now=int(clock.now().timestamp()),
        leeway=LEEWAY,
        iss={"essential": True, "value": provider.issuer},
        aud={"essential": True, "value": provider.client_id},
        nonce={"essential": True, "value": nonce},
        sub={"essential": True},
        exp={"essential": True},
        iat={"essential": True},
    )
    try:
        found = jwt.decode(token, KeySet.import_key_set(dict(keys)), algorithms=ALGORITHMS)  # type: ignore[arg-type]  # any JSON object
        registry.validate(found.claims)
    except (JoseError, ValueError, KeyError, TypeError) as error:
        raise RefusedError(type(error).__name__) from None
    claims = found.claims
    audience = claims["aud"]
    is_alone = isinstance(audience, str) or len(audience) == 1
    if claims.get("azp", provider.client_id if is_alone else "") != provider.client_id:
        raise RefusedError("issued to another client")
    if not isinstance(claims["sub"], str) or not 0 < len(claims["sub"]) <= 255:
        raise RefusedError("no subject")
    return claims


def _exchange(
    client: httpx.Client,
    provider: Provider,
    metadata: Mapping[str, Any],
    redirect_uri: str,
    code: str,
    verifier: str,
) -> dict[str, Any]:
    sent = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "code_verifier": verifier,
    }
    auth: httpx.Auth = httpx.Auth()
    methods = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    if "client_secret_basic" in methods:
        # RFC 6749 2.3.1: both are form-encoded first
        auth = httpx.BasicAuth(
            quote(provider.client_id, safe=""), quote(provider.client_secret, safe="")
        )
    else:
        sent |= {"client_id": provider.client_id, "client_secret": provider.client_secret}
    answer = client.post(_endpoint(metadata, "token_endpoint"), data=sent, auth=auth)
    if answer.status_code == 400:
        raise RefusedError("the code was not taken")
    return _json(answer)


def _completed(
    client: httpx.Client,
    provider: Provider,
    metadata: Mapping[str, Any],
    claims: dict[str, Any],
    tokens: Mapping[str, Any],
) -> dict[str, Any]:
    """Ask for what the ID token does not say; it is about the same subject, or refused."""
    wanted = {provider.groups_claim, provider.name_claim}
    token = tokens.get("access_token")
    if wanted <= claims.keys() or not token or "userinfo_endpoint" not in metadata:
        return claims
    said = _json(
        client.get(
            _endpoint(metadata, "userinfo_endpoint"), headers={"Authorization": f"Bearer {token}"}
        )
    )
    if said.get("sub") != claims["sub"]:
        raise RefusedError("another subject's claims")
    return {**{name: said[name] for name in wanted & said.keys()}, **claims}


def _person(provider: Provider, claims: Mapping[str, Any]) -> Person:
    groups = claims.get(provider.groups_claim, [])
    if isinstance(groups, str):
        groups = [groups]
    name = claims.get(provider.name_claim)
    return Person(
        issuer=provider.issuer,
        subject=claims["sub"],
        name=name if isinstance(name, str) else "",
        groups=frozenset(group for group in groups if isinstance(group, str))
        if isinstance(groups, list)
        else frozenset(),
    )


def _metadata(client: httpx.Client, provider: Provider) -> dict[str, Any]:
    address = f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration"
    found = _json(client.get(address))
    if found.get("issuer") != provider.issuer:
        raise ProviderError("the metadata is another issuer's")
    return found


def _endpoint(metadata: Mapping[str, Any], name: str) -> str:
    address = metadata.get(name)
    if not isinstance(address, str) or not is_private_or_encrypted(address):
        raise ProviderError(f"the metadata has no {name} that can be used")
    return address


def _json(answer: httpx.Response) -> dict[str, Any]:
    try:
        answer.raise_for_status()
        found = answer.json()
    except (httpx.HTTPError, ValueError) as error:
        raise ProviderError(type(error).__name__) from None
    if not isinstance(found, dict):
        raise ProviderError("the answer is no JSON object")
    return found


def _challenge(verifier: str) -> str:
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


@contextmanager
def _asking() -> Iterator[httpx.Client]:
    """A client; whatever goes wrong on the way is a ProviderError."""
    with httpx.Client(timeout=SECONDS, follow_redirects=False) as client:
        try:
            yield client
        except httpx.HTTPError as error:
            raise ProviderError(type(error).__name__) from None
