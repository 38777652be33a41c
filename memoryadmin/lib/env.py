"""Settings from the environment: a bad value stops the program and names its variable."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


def text(name: str, default: str = "") -> str:
    """Return the variable without surrounding blanks; an empty one counts as not set."""
    return os.environ.get(name, "").strip() or default


def required(name: str, *, why: str) -> str:
    value = text(name)
    if not value:
        raise ImproperlyConfigured(f"{name} is not set: {why}")
    return value


def flag(name: str, *, default: bool) -> bool:
    value = text(name).lower()
    if not value:
        return default
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise ImproperlyConfigured(f"{name} must be 1 or 0, not {value!r}")


def whole(name: str, default: int, *, least: int, most: int) -> int:
    value = text(name)
    if not value:
        return default
    try:
        number = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {value!r}") from None
    if not least <= number <= most:
        raise ImproperlyConfigured(f"{name} must be from {least} to {most}, not {number}")
    return number


def seconds(name: str, default: float, *, least: float, most: float) -> float:
    value = text(name)
    if not value:
        return default
    try:
        number = float(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a number of seconds, not {value!r}") from None
    # written so that NaN fails too
    if not (least <= number <= most):
        raise ImproperlyConfigured(f"{name} must be from {least} to {most} seconds, not {value}")
    return number


def fraction(name: str, default: float) -> float:
    value = text(name)
    if not value:
        return default
    try:
        number = float(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a number, not {value!r}") from None
    if not (0 <= number <= 1):
        raise ImproperlyConfigured(f"{name} must be from 0 to 1, not {value}")
    return number


def choice(name: str, default: str, *, of: Iterable[str]) -> str:
    allowed = tuple(of)
    value = text(name, default)
    if value not in allowed:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(allowed)}, not {value!r}")
    return value


def names(name: str, default: Iterable[str] = ()) -> list[str]:
    """Read a comma-separated list."""
    found = [part.strip() for part in text(name).split(",") if part.strip()]
    return found or list(default)


def choices(name: str, *, of: Iterable[str]) -> list[str]:
    """Read a comma-separated list of which each part is one of these words."""
    allowed, found = tuple(of), names(name)
    if unknown := [part for part in found if part not in allowed]:
        raise ImproperlyConfigured(f"{name} may list {', '.join(allowed)}, not {unknown[0]!r}")
    return found


def url(name: str, default: str = "", *, schemes: Iterable[str]) -> str:
    allowed = tuple(schemes)
    value = text(name, default)
    if not value:
        return ""
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} is not a URL: {error}") from None
    if parts.scheme not in allowed or not (parts.netloc or parts.path):
        # the value may hold a password, so it is not repeated
        raise ImproperlyConfigured(f"{name} must be a URL that starts with {' or '.join(allowed)}")
    return value


def path(name: str, default: Path) -> Path:
    """Return an absolute path; a relative one is a mistake, since processes differ in where they are."""
    value = text(name)
    if not value:
        return default
    found = Path(value)
    if not found.is_absolute():
        raise ImproperlyConfigured(f"{name} must be an absolute path, not {value!r}")
    return found
