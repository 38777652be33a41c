"""Exporting an app of many episodes: `python -m benchmarks.export`.

Prints how long `manage.py export` took, how much it wrote, and how much memory it took at most, beside
one that finds nothing: the difference is what the episodes cost.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from memoryadmin.database import postgres

# Django is set up by run(); what needs it is imported after that.
# ruff: noqa: PLC0415
ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Measured:
    lines: int
    megabytes: float
    seconds: float
    peak: float  # MB


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.export")
    options.add_argument("--rows", type=int, default=100_000)
    chosen = options.parse_args()
    usual = Path(os.environ.get("MEMORYADMIN_DATA_DIR", ROOT / "var"))
    folder = usual / "bench-export"
    shutil.rmtree(folder, ignore_errors=True)
    os.environ["MEMORYADMIN_DATA_DIR"] = str(folder)
    os.environ["DJANGO_SETTINGS_MODULE"] = "memoryadmin.settings"
    os.environ["MEMORYADMIN_DB_ROLE"] = "owner"
    try:
        with postgres.database() as dsn:
            run(dsn, rows=chosen.rows, file=folder / "export.ndjson")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(dsn: str, *, rows: int, file: Path) -> None:
    import django

    django.setup()
    import psycopg
    from django.core.management import call_command

    from benchmarks import load
    from benchmarks.corpus import Corpus

    call_command("migrate", verbosity=0)
    [(app, _)] = load.make_apps(1)
    with psycopg.connect(dsn, autocommit=True) as connection:
        load.stage(connection)
        seconds = load.load(connection, Corpus(n_rows=rows, n_apps=1), [app])
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"{rows:,} episodes loaded in {seconds:.0f} s")
    for label, options in (("nothing", ["--user", "nobody"]), ("everything", [])):
        found = measure(["--app", app.name, *options], file)
        print(
            f"{label}: {found.lines:,} lines, {found.megabytes:.0f} MB in {found.seconds:.1f} s,"
            f" {found.peak:.0f} MB of memory at most"
        )


def measure(options: list[str], file: Path) -> Measured:
    """Run the command as a process of its own, as web and workers would: with the app's rights."""
    environment = {**os.environ, "MEMORYADMIN_DB_ROLE": "app"}
    began = time.monotonic()
    with file.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "export", *options],
            cwd=ROOT,
            stdout=out,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        peak = 0.0
        while process.poll() is None:
            peak = max(peak, _peak_of(process.pid))
            time.sleep(0.1)
    seconds = time.monotonic() - began
    if process.returncode:
        raise RuntimeError(f"the export ended with {process.returncode}")
    with file.open("rb") as written:
        lines = sum(1 for _ in written)
    return Measured(lines, file.stat().st_size / 1e6, seconds, peak)


def _peak_of(pid: int) -> float:
    """Return the most memory that the program had so far, in MB. What `wait4` tells of a child counts
    its parent's, too, from before the child became another program."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    found = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(found[0].split()[1]) / 1024 if found else 0.0


if __name__ == "__main__":
    main()
