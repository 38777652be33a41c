"""A real OpenID Connect provider (npm's oidc-provider) beside a served console."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from memoryadmin.lib.identity_provider import Grant, Provider
from tests.memoryadmin.running import eventually, free_port

if TYPE_CHECKING:
    from tests.oidc.people import Idp

HERE = Path(__file__).resolve().parent
FILES = ("package.json", "package-lock.json", "provider.mjs")
CLIENT, SECRET = "memoryadmin", "a secret: with/odd+characters"


@pytest.fixture(scope="session")
def _uncollected_static_files() -> None:
    """The server starts before any test's own settings, and none has collected files."""
    # Conftest files are read before tests/conftest.py has set Django up.
    from django.conf import settings  # noqa: PLC0415

    settings.WHITENOISE_AUTOREFRESH = True


@pytest.fixture(scope="session")
def program() -> Path:
    """Install the provider outside the tree, once for each state of its lock."""
    from django.conf import settings  # noqa: PLC0415

    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("node and npm are not on this machine")
    state = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in FILES)).hexdigest()
    folder = Path(settings.DATA_DIR) / f"oidc-provider-{state[:12]}"
    if not (folder / "installed").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            shutil.copy(HERE / name, folder / name)
        done = subprocess.run(
            [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        (folder / "installed").touch()
    return folder


@pytest.fixture(scope="session")
def process(
    program: Path, _uncollected_static_files: None, live_server: Any, tmp_path_factory: Any
) -> Iterator[str]:
    """Yield the issuer of the running provider."""
    port = free_port()
    log = tmp_path_factory.mktemp("oidc") / "log"
    env = {
        "PATH": os.environ["PATH"],
        "PORT": str(port),
        "CLIENT_ID": CLIENT,
        "CLIENT_SECRET": SECRET,
        "REDIRECT_URI": f"{live_server.url}/sign-in/provider/back/",
    }
    with log.open("wb") as output:
        started = subprocess.Popen(
            ["node", "provider.mjs"], cwd=program, env=env, stdout=output, stderr=output
        )
    try:
        eventually(lambda: "ready" in log.read_text(), show=log.read_text)
        yield f"http://127.0.0.1:{port}"
    finally:
        started.kill()
        started.wait()


@pytest.fixture
def idp(process: str, live_server: Any, settings: Any) -> Iterator[Idp]:
    from tests.oidc.people import Idp  # noqa: PLC0415

    settings.IDENTITY_PROVIDER = Provider(
        issuer=process,
        client_id=CLIENT,
        client_secret=SECRET,
        grants=(
            Grant("curators", "billing-agent", "curator"),
            Grant("readers", "billing-agent", "viewer"),
            Grant("platform", "", "superuser"),
        ),
        scopes="openid profile",
        groups_claim="groups",
        name_claim="preferred_username",
        label="the tests' provider",
    )
    with httpx.Client() as control:
        yield Idp(process, live_server.url, control)
