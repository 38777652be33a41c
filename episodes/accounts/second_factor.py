"""The second factor: a code of an authenticator app (TOTP, RFC 6238), or a recovery code, once.

The secret is encrypted under a key that the database does not have. A code is taken once: its time
step is kept, and that one and older ones are refused, under a lock, in every process.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django_otp.oath import TOTP

from episodes import audit
from episodes.accounts.throttle import code_counter, give_back, keyed, take_try
from episodes.audit import Actor
from episodes.models import RecoveryCode, SecondFactor
from memoryadmin.lib import clock

STEP = 30  # seconds
TOLERANCE = 1  # steps that a phone's clock may be off, either way
N_CODES = 10
ISSUER = "memoryadmin"
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"  # nothing that is read for something else


class WrongCodeError(Exception):
    """It is no code of this moment, was used before, or is no recovery code that is left."""


class AlreadyOnError(Exception):
    """The account has a second factor; it is taken away before another is set up."""


class NotOnError(Exception):
    """The account has no second factor."""


@dataclass(frozen=True, slots=True)
class Enrolment:
    """What goes into the authenticator app: `secret` to be typed, `uri` as a QR code."""

    secret: str
    uri: str


def has_factor(account: User) -> bool:
    return SecondFactor.objects.filter(user=account, confirmed_at__isnull=False).exists()


def codes_left(account: User) -> int:
    return RecoveryCode.objects.filter(user=account, used_at__isnull=True).count()


@transaction.atomic
def begin_enrolment(*, account: User) -> Enrolment:
    """Return the secret that waits to be confirmed, the same until it is. Raises AlreadyOnError."""
    made = _sealed(base64.b32encode(secrets.token_bytes(20)).decode())
    factor, _ = SecondFactor.objects.select_for_update().get_or_create(
        user=account, defaults={"secret": made}
    )
    if factor.confirmed_at is not None:
        raise AlreadyOnError(account.get_username())
    secret = _opened(factor.secret)
    query = urlencode({"secret": secret, "issuer": ISSUER}, quote_via=quote)
    label = quote(f"{ISSUER}:{account.get_username()}", safe=":")
    return Enrolment(secret, f"otpauth://totp/{label}?{query}")


@transaction.atomic
def confirm_enrolment(*, account: User, code: str, actor: Actor) -> list[str]:
    """Switch the second factor on; return the recovery codes, which nobody can read again.

    Raises WrongCodeError, AlreadyOnError.
    """
    factor = SecondFactor.objects.select_for_update().filter(user=account).first()
    if factor is None:
        raise WrongCodeError
    if factor.confirmed_at is not None:
        raise AlreadyOnError(account.get_username())
    if not _take_step(factor, code):
        raise WrongCodeError
    factor.confirmed_at = clock.now()
    factor.save(update_fields=["confirmed_at"])
    _record(account, "account.second_factor_on", actor)
    return _make_codes(account)


def verify_code(*, account: User, code: str, actor: Actor, browser: str = "") -> None:
    """Take a code of the app, or a recovery code. Raises TooManyTriesError, WrongCodeError."""
    tried = take_try([code_counter(account.pk, browser)])
    with transaction.atomic():
        factor = (
            SecondFactor.objects.select_for_update()
            .filter(user=account, confirmed_at__isnull=False)
            .first()
        )
        right = factor is not None and (
            _take_step(factor, code) or _take_recovery(account, code, actor)
        )
    if not right:
        if tried.began_a_wait:
            with transaction.atomic():
                _record(account, "account.sign_in_delayed", actor, second_factor=True)
        raise WrongCodeError
    give_back(tried)


def renew_codes(*, account: User, code: str, actor: Actor) -> list[str]:
    """Replace the recovery codes. Raises TooManyTriesError, WrongCodeError."""
    verify_code(account=account, code=code, actor=actor)
    with transaction.atomic():
        _record(account, "account.recovery_codes_made", actor)
        return _make_codes(account)


def switch_off(*, account: User, code: str, actor: Actor) -> None:
    """Their own, with a code. Raises TooManyTriesError, WrongCodeError."""
    verify_code(account=account, code=code, actor=actor)
    reset_factor(account=account, actor=actor)


@transaction.atomic
def reset_factor(*, account: User, actor: Actor, reason: str = "") -> None:
    """Take the second factor away, for somebody who lost it. Raises NotOnError."""
    removed, _ = SecondFactor.objects.filter(user=account).delete()
    RecoveryCode.objects.filter(user=account).delete()
    if not removed:
        raise NotOnError(account.get_username())
    _record(account, "account.second_factor_off", actor, reason=reason)


def is_demanded(account: User, roles: Iterable[str]) -> bool:
    """Whether the installation asks for a second factor in one of these roles."""
    held = {*roles, *(["superuser"] if account.is_superuser else [])}
    return not held.isdisjoint(settings.SECOND_FACTOR_FOR)


def _take_step(factor: SecondFactor, code: str) -> bool:
    """Compare within the tolerance, and keep the step: the row is locked by the caller."""
    if not (len(code) == 6 and code.isascii() and code.isdigit()):
        return False
    totp = TOTP(base64.b32decode(_opened(factor.secret)), step=STEP)
    totp.time = clock.now().timestamp()
    if not totp.verify(int(code), tolerance=TOLERANCE, min_t=factor.last_step + 1):
        return False
    factor.last_step = totp.t()
    factor.save(update_fields=["last_step"])
    return True


def _take_recovery(account: User, code: str, actor: Actor) -> bool:
    unused = RecoveryCode.objects.filter(
        user=account, code_hash=_code_hash(account, code), used_at__isnull=True
    )
    if not unused.update(used_at=clock.now()):
        return False
    _record(account, "account.recovery_code_used", actor, left=codes_left(account))
    return True


def _make_codes(account: User) -> list[str]:
    """Return ten codes of 50 bits each, in place of those there were."""
    RecoveryCode.objects.filter(user=account).delete()
    codes = ["".join(secrets.choice(_ALPHABET) for _ in range(10)) for _ in range(N_CODES)]
    RecoveryCode.objects.bulk_create(
        [RecoveryCode(user=account, code_hash=_code_hash(account, code)) for code in codes]
    )
    return [f"{code[:5]}-{code[5:]}" for code in codes]


def _code_hash(account: User, code: str) -> str:
    plain = "".join(letter for letter in code.lower() if letter in _ALPHABET)
    return keyed("recovery", str(account.pk), plain)


def _sealed(secret: str) -> str:
    return _box().encrypt(secret.encode()).decode()


def _opened(sealed: str) -> str:
    return _box().decrypt(sealed.encode()).decode()


def _box() -> Fernet:
    made = HKDF(SHA256(), length=32, salt=None, info=b"memoryadmin second factor")
    return Fernet(base64.urlsafe_b64encode(made.derive(settings.HASH_KEY.encode())))


def _record(account: User, verb: str, actor: Actor, *, reason: str = "", **after: object) -> None:
    audit.record(
        actor=actor,
        verb=verb,
        target_kind="account",
        target_id=account.pk,
        app=None,
        reason=reason,
        after={"user": account.get_username(), **after},
    )
