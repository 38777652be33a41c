"""Pages that would go stale unnoticed: each is compared with what it describes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from django.apps import apps

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *ROOT.glob("benchmarks/*.md")])


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def first_column(markdown: str) -> str:
    return "\n".join(re.findall(r"^\|([^|]*)\|", markdown, re.MULTILINE))


def test_operations_lists_every_variable() -> None:
    read = re.compile(r"\b(?:env\.\w+|keyfile\.key)\(\s*\"([A-Z_]+)\"")
    sources = [p.read_text(encoding="utf-8") for p in (ROOT / "memoryadmin").rglob("*.py")]

    listed = re.findall(r"`([A-Z_]+)`", first_column(page("docs/operations.md")))

    assert len(listed) == len(set(listed))
    assert set(listed) == {name for source in sources for name in read.findall(source)}


def test_the_model_is_drawn_and_listed_whole() -> None:
    architecture = page("docs/architecture.md")
    models = {
        m.__name__
        for app in ("episodes", "curation")
        for m in apps.get_app_config(app).get_models()
    }

    drawn = set(re.findall(r"^    ([A-Z]\w+)(?: \{| [|}]|$)", architecture, re.MULTILINE))
    drawn |= set(re.findall(r"[|o]\S (\w+) :", architecture))
    listed = set(
        re.findall(r"`([A-Z]\w+)`", first_column(architecture.split("## The data model")[1]))
    )

    assert drawn == models
    assert listed == models


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8"))

    dead = [link for link in links if "://" not in link and not (path.parent / link).exists()]

    assert dead == []


def test_compose_asks_for_its_secrets() -> None:
    services = yaml.safe_load(page("docker-compose.yml"))["services"]
    secret = re.compile(r"PASSWORD|SECRET|HASH_KEY|DATABASE_URL")

    settings = {
        (service, name): value
        for service, described in services.items()
        for name, value in described.get("environment", {}).items()
        if secret.search(name)
    }

    # without a value: passed on where it is set, and nothing stands in for it
    given = {at: value for at, value in settings.items() if value is not None}
    assert {at: value for at, value in given.items() if ":?" not in value} == {}
    assert ("web", "MEMORYADMIN_SECRET_KEY") in settings


def test_compose_checks_the_health_of_what_stays_up() -> None:
    services = yaml.safe_load(page("docker-compose.yml"))["services"]
    image = "HEALTHCHECK" in page("Dockerfile")

    unchecked = [
        name
        for name, service in services.items()
        if "healthcheck" not in service and not (image and service["image"] == "memoryadmin")
    ]

    assert unchecked == []


def test_the_image_runs_as_nobody_special() -> None:
    users = re.findall(r"^USER (\S+)", page("Dockerfile"), re.MULTILINE)

    assert users == ["memoryadmin"]
