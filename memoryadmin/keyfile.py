"""Keys of an installation: from the environment, or kept in the data folder of a local one."""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from memoryadmin.lib import env

SHORTEST = 32


def key(name: str, path: Path, *, may_create: bool) -> str:
    """Return the key named by the variable, else the one in the file, made on first use."""
    value = env.text(name) or _stored(path)
    if not value and may_create:
        value = _created(path)
    if not value:
        raise ImproperlyConfigured(
            f"{name} is not set: outside a local installation it must be a secret of at least "
            f"{SHORTEST} characters, the same in every process and kept for good"
        )
    if len(value) < SHORTEST:
        raise ImproperlyConfigured(f"{name} is shorter than {SHORTEST} characters")
    return value


def _stored(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return ""


def _created(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)  # mode 0600
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(48))
            file.flush()
            os.fsync(file.fileno())
        # a link, not a rename: of two processes starting together the first one's key stays
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass
    finally:
        Path(temporary).unlink()
    return _stored(path)
