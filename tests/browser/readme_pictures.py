"""The pictures of README.md, taken of the demo: python -m tests.browser.readme_pictures [FOLDER]

Loads the demo into a database of its own, which is gone afterwards. WebP, as Chromium writes it.
"""

from __future__ import annotations

import base64
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memoryadmin.database import postgres

# Django is set up by main(); what needs it is imported after that.
# ruff: noqa: PLC0415

PICTURES = Path(__file__).resolve().parent.parent.parent / "docs" / "pictures"
SIZE = (1280, 800)
QUALITY = 82
LARGEST = 150_000  # bytes; a checkout carries them for good
PASSWORD = "only while these are taken"


@dataclass(frozen=True, slots=True)
class Picture:
    """`opens`: what is unfolded first."""

    name: str
    path: str
    user: str
    theme: str = "light"
    opens: str = ""


def pictures() -> Iterator[Picture]:
    """Yield what a newcomer should see, each as somebody who has it before them all day."""
    from curation.review.queue import Why, read_queue
    from episodes.models import App, Episode, Member, Recall
    from memoryadmin.demo.story import SESSIONS

    app = App.objects.get(name="billing-agent")
    home = f"/apps/{app.name}"
    curator = Member.objects.get(app=app, user__username="curator")
    waits = read_queue(member=curator, why=Why.DISPUTED)
    yield Picture("queue", f"{home}/queue/{waits.items[0].id}/", "curator")
    lost = Episode.objects.get(app=app, session_id=SESSIONS["B"])
    yield Picture("episode", f"{home}/episodes/{lost.id}/", "compliance")
    given = Recall.objects.filter(app=app, session_id=SESSIONS["A"]).order_by("recalled_at")[0]
    unfolded = "summary:has-text('As the agent read it')"
    yield Picture("recall", f"{home}/recalls/{given.id}/", "compliance", "dark", unfolded)
    yield Picture("overview", f"{home}/?days=90", "compliance")


def take(folder: Path) -> None:
    from tests.browser.chromium import chromium, sign_in, tab
    from tests.browser.shots import serving

    folder.mkdir(parents=True, exist_ok=True)
    with serving() as base, chromium() as browser:
        for picture in pictures():
            with tab(browser, size=SIZE, theme=picture.theme) as page:
                sign_in(page, base, picture.user, PASSWORD)
                answer = page.goto(base + picture.path)
                assert answer is not None
                assert answer.status == 200, picture
                if picture.opens:
                    page.locator(picture.opens).first.click()
                shot = page.context.new_cdp_session(page).send(
                    "Page.captureScreenshot", {"format": "webp", "quality": QUALITY}
                )
            content = base64.b64decode(shot["data"])
            assert len(content) < LARGEST, (picture.name, len(content))
            (folder / f"{picture.name}.webp").write_bytes(content)
            sys.stdout.write(f"{picture.name}.webp  {len(content) // 1000} kB\n")


def load() -> None:
    """The demo, with one password that is known here."""
    from django.contrib.auth.hashers import make_password
    from django.contrib.auth.models import User

    from memoryadmin.demo.load import load_demo
    from memoryadmin.lib import clock

    load_demo(now=clock.now(), keep=lambda access: None)
    User.objects.exclude(password__startswith="!").update(password=make_password(PASSWORD))


def main() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "memoryadmin.settings"
    os.environ["MEMORYADMIN_LOCAL"] = "1"
    os.environ["MEMORYADMIN_DEBUG"] = "1"
    os.environ["MEMORYADMIN_DB_ROLE"] = "owner"
    os.environ.pop("DATABASE_URL", None)
    with tempfile.TemporaryDirectory(prefix="pictures-") as data:
        Path(data).chmod(0o711)  # without user namespaces the server runs as nobody
        os.environ["MEMORYADMIN_DATA_DIR"] = data
        with postgres.database():
            import django

            django.setup()
            from django.core.management import call_command

            call_command("migrate", verbosity=0)
            load()
            take(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES)


if __name__ == "__main__":
    main()
