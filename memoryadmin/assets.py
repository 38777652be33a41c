"""Static files, collected again only when their sources changed: compressing them takes seconds."""

from __future__ import annotations

import hashlib
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command


def collect_if_changed() -> bool:
    """Return whether anything had to be collected."""
    stamp = Path(settings.STATIC_ROOT) / ".collected"
    current = _fingerprint()
    if stamp.exists() and stamp.read_text() == current:
        return False
    # without the old stamp a kill halfway is seen the next time
    stamp.unlink(missing_ok=True)
    call_command("collectstatic", verbosity=0, interactive=False)
    stamp.write_text(current)
    return True


def _fingerprint() -> str:
    seen = hashlib.sha256()
    for finder in get_finders():
        for path, storage in finder.list([]):
            modified = storage.get_modified_time(path).timestamp()
            seen.update(f"{path}\0{storage.size(path)}\0{modified}\0".encode())
    return seen.hexdigest()
