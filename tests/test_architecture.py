"""The rules of CONTRIBUTING.md that a reading of the tree can hold."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NOT_OURS = {".git", ".venv", "var", "staticfiles", "node_modules", "__pycache__"}
APPS = ("memoryadmin", "episodes", "curation")
WRITES = {
    "save",
    "create",
    "update",
    "delete",
    "bulk_create",
    "bulk_update",
    "get_or_create",
    "update_or_create",
}
SQL_WRITE = re.compile(r"\s*(insert\s+into|update\s+\w+\s+set|delete\s+from)\b", re.IGNORECASE)


def tree() -> Iterator[Path]:
    """Yield the files a commit could hold; caches and environments start with a dot or are named."""
    for path in ROOT.rglob("*"):
        inside = path.relative_to(ROOT)
        ours = not NOT_OURS.intersection(inside.parts) and not inside.parts[0].endswith("_cache")
        if ours and path.is_file():
            yield path


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def text(path: Path) -> str | None:
    """Return the file's text, or None if it is not text."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def sources(*folders: str) -> list[Path]:
    return sorted(
        p for f in folders for p in (ROOT / f).rglob("*.py") if "migrations" not in p.parts
    )


def is_entry_point(path: Path) -> bool:
    folders = set(path.relative_to(ROOT).parts[:-1])
    if folders & {"api", "views", "commands"} or path.stem.endswith(("form", "forms")):
        return True
    return path.stem in {"admin", "serializers", "tasks", "views"}


def writes(source: str) -> list[str]:
    """Return where a source writes rows, as "line: what"."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(attr=called)) if called in WRITES:
                found.append(f"{node.lineno}: .{called}()")
            case ast.Constant(value=str(literal)) if SQL_WRITE.match(literal):
                found.append(f"{node.lineno}: {literal.split()[0]}")
    return found


def lines_over(paths: list[Path], cap: int) -> dict[str, int]:
    counted = {name(p): len((text(p) or "").splitlines()) for p in paths}
    return {path: n for path, n in counted.items() if n > cap}


def test_imports_point_one_way() -> None:
    linter = Path(sys.executable).with_name("lint-imports")

    done = subprocess.run(
        [linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_episodes_never_mentions_curation() -> None:
    files = [*(ROOT / "episodes").rglob("*.*"), *(ROOT / "templates" / "episodes").rglob("*.*")]

    guilty = [
        name(p) for p in files if p.suffix != ".pyc" and "curation" in (text(p) or "").lower()
    ]

    assert guilty == []
    assert len(files) > 20


def test_lib_mentions_no_app() -> None:
    imports = re.compile(r"^\s*(from|import)\s+(episodes|curation)\b", re.MULTILINE)

    guilty = [name(p) for p in sources("memoryadmin/lib") if imports.search(text(p) or "")]

    assert guilty == []


def test_source_files_stay_small() -> None:
    assert lines_over(sources(*APPS), 400) == {}


def test_functions_stay_on_a_screen() -> None:
    over = {
        f"{name(path)}: {node.name}": length
        for path in sources(*APPS)
        for node in ast.walk(ast.parse(text(path) or ""))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or 0) - node.lineno + 1) > 65
    }

    assert over == {}


def test_test_files_stay_small() -> None:
    assert lines_over(sources("tests"), 500) == {}


def test_readme_stays_short() -> None:
    assert lines_over([ROOT / "README.md"], 119) == {}


def test_entry_points_never_write_rows() -> None:
    guilty = {
        name(p): found
        for p in sources(*APPS)
        if is_entry_point(p) and (found := writes(text(p) or ""))
    }

    assert guilty == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("Episode.objects.create(app=app)", ["1: .create()"]),
        ("episode.save(update_fields=['state'])", ["1: .save()"]),
        ("cursor.execute('DELETE FROM episodes_episode')", ["1: DELETE"]),
        ("cursor.execute('''\n  update episodes_app set name = 1''')", ["1: update"]),
        ("record(verb='create')\nEpisode.objects.filter(app=app)", []),
    ],
)
def test_writes_are_recognised(source: str, found: list[str]) -> None:
    assert writes(source) == found


def test_modules_are_named_after_use_cases() -> None:
    vague = {
        "utils",
        "util",
        "helpers",
        "helper",
        "services",
        "managers",
        "mixins",
        "common",
        "misc",
    }

    assert [name(p) for p in sources(*APPS, "tests") if p.stem in vague] == []


def test_no_secret_is_in_the_tree() -> None:
    named = re.compile(
        r"(^|/)(\.env(\..*)?|.*\.(pem|p12|pfx|key)|id_(rsa|ed25519)|secret_key|hash_key)$"
    )
    # tests hold made-up secrets for the masker, so only the rest is read for their shapes
    shapes = re.compile(
        r"-----BEGIN [A-Z ]*PRIVATE KEY|\bAKIA[0-9A-Z]{16}\b|\bmem_[a-z0-9]+_[A-Za-z0-9_-]{24,}"
        r"|(?i:secret_?key|password|token)[\"']?\s*[:=]\s*[\"'][A-Za-z0-9+/_-]{20,}[\"']"
    )

    files = [p for p in tree() if not name(p).startswith("tests/")]

    assert [name(p) for p in tree() if named.search(name(p))] == []
    assert [name(p) for p in files if shapes.search(text(p) or "")] == []


def test_no_path_of_one_machine_is_in_the_tree() -> None:
    # folders that belong to a person or a workplace, never to an installed program
    machine = re.compile(
        r"(?<![\w.$~*})-])(?<!\w/)/(?:home|root|Users|work|workspace|mnt)/[\w.-]+"
        r"|(?<![\w.])/tmp/(?!pytest)[\w-]{1,3}/\w|fil[e]:///"
    )

    assert {
        f"{name(p)}: {found[0]}" for p in tree() if (found := machine.findall(text(p) or ""))
    } == set()
