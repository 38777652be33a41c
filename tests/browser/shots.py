"""Pictures of every page at two widths in both themes: python -m tests.browser.shots FOLDER [NAME…]

Uses the store in the data folder; makes the sample there if it is empty.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from memoryadmin.database import postgres

# Django is set up by main(); what needs it is imported after that.
# ruff: noqa: PLC0415


@contextmanager
def serving() -> Iterator[str]:
    """Yield the address of the console in a thread of this process."""
    from django.contrib.staticfiles.handlers import StaticFilesHandler
    from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
    from django.core.wsgi import get_wsgi_application

    class Silent(WSGIRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadedWSGIServer(("127.0.0.1", 0), Silent)
    server.set_app(StaticFilesHandler(get_wsgi_application()))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()


def shoot(folder: Path, wanted: list[str]) -> None:
    from episodes.models import App
    from tests.browser.chromium import NARROW, THEMES, WIDE, chromium, sign_in, tab
    from tests.browser.sample import PASSWORD, make_sample
    from tests.browser.tour import stops

    app = App.objects.filter(name="billing-support").first()
    if app is None:
        app = make_sample(episodes=320, now=datetime.now(UTC)).app
    places = [stop for stop in stops(app) if not wanted or stop.name in wanted]
    folder.mkdir(parents=True, exist_ok=True)
    with serving() as base, chromium() as browser:
        for size, width in ((WIDE, "wide"), (NARROW, "narrow")):
            for theme in THEMES:
                with tab(browser, size=size, theme=theme) as page:
                    if not wanted or "sign-in" in wanted:
                        page.goto(f"{base}/sign-in/")
                        page.screenshot(path=folder / f"sign-in-{width}-{theme}.png")
                    sign_in(page, base, "root", PASSWORD)
                    for stop in places:
                        answer = page.goto(base + stop.path)
                        assert answer is not None
                        assert answer.status < 500, stop
                        page.screenshot(
                            path=folder / f"{stop.name}-{width}-{theme}.png", full_page=True
                        )


def main() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "memoryadmin.settings"
    os.environ["MEMORYADMIN_LOCAL"] = "1"
    os.environ["MEMORYADMIN_DEBUG"] = "1"
    os.environ["MEMORYADMIN_DB_ROLE"] = "owner"
    with postgres.database():
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        shoot(Path(sys.argv[1]), sys.argv[2:])


if __name__ == "__main__":
    main()
