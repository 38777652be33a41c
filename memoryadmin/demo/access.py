"""How people get into the demo: made at random when it is loaded, kept in the data folder.

The database has only hashes of both.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Access:
    password: str  # of every sign-in
    key: str  # may search and read the billing agent's episodes


def keep_access(access: Access, *, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix="demo")  # mode 0600
    with os.fdopen(handle, "w", encoding="ascii") as file:
        json.dump(asdict(access), file)
    Path(temporary).rename(folder / "demo.json")


def kept_access(*, folder: Path) -> Access | None:
    """Return None where the demo was loaded with another data folder."""
    try:
        return Access(**json.loads((folder / "demo.json").read_text(encoding="ascii")))
    except (FileNotFoundError, ValueError, TypeError):
        return None
