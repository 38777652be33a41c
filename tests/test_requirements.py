"""The locks install the same packages everywhere, and name what the program imports."""

from __future__ import annotations

import ast
import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ("requirements.txt", "requirements-dev.txt")
APPS = ("memoryadmin", "episodes", "curation")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def pins(lock: str) -> dict[str, str]:
    return dict(re.findall(r"^(\S+)==(\S+)", read(lock), re.MULTILINE))


def declared(name: str) -> set[str]:
    found = re.findall(r"^([a-z0-9-]+)(?:\[\w+\])?[=><]", read(name), re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", package) for package in found}


def imported() -> set[str]:
    """Return the distributions that the program's own modules import."""
    tops: set[str] = set()
    for path in (p for app in APPS for p in (ROOT / app).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                tops |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                tops.add(node.module.split(".")[0])
    foreign = tops - sys.stdlib_module_names - set(APPS)
    known = packages_distributions()
    return {re.sub(r"[-_.]+", "-", known[top][0].lower()) for top in foreign}


@pytest.mark.parametrize("lock", LOCKS)
def test_locks_name_no_index(lock: str) -> None:
    assert re.findall(r"://|^-.*|\s--(?!hash=sha256:).*|@ .*", read(lock), re.MULTILINE) == []


@pytest.mark.parametrize("lock", LOCKS)
def test_locks_hash_every_pin(lock: str) -> None:
    hashed = re.findall(r"^(\S+)==\S+ \\\n    --hash=sha256:[0-9a-f]{64}", read(lock), re.MULTILINE)

    assert hashed == re.findall(r"^[a-z0-9][^\s=]*", read(lock), re.MULTILINE)


def test_locks_agree() -> None:
    runtime, dev = pins("requirements.txt"), pins("requirements-dev.txt")

    shared = runtime.keys() & dev.keys()

    assert {name: dev[name] for name in shared} == {name: runtime[name] for name in shared}


@pytest.mark.parametrize(
    ("asked", "lock"),
    [("requirements.in", LOCKS[0]), ("requirements-dev.in", LOCKS[1])],
)
def test_what_is_asked_for_is_locked(asked: str, lock: str) -> None:
    assert declared(asked) - pins(lock).keys() == set()


def test_what_is_imported_is_asked_for() -> None:
    found = imported()

    assert found - declared("requirements.in") == set()
    assert {"django", "psycopg"} <= found
