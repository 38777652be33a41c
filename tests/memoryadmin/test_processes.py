"""Who lives in a folder, and who ends with whom."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memoryadmin.database.unprivileged import NOBODY
from memoryadmin.lib.processes import is_in_folder, working_in
from tests.memoryadmin.running import ROOT, environment, eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

# A container's root: without the capability nobody's processes cannot be looked into.
_WITHOUT_PTRACE = """
import ctypes, os, sys
PR_CAPBSET_DROP, CAP_SYS_PTRACE = 24, 19
assert ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0) == 0
os.execv(sys.executable, [sys.executable, "-c", sys.argv[1], *sys.argv[2:]])
"""
_ASK = """
import sys; from pathlib import Path
from memoryadmin.lib.processes import is_in_folder, working_in
pid, folder = int(sys.argv[1]), Path(sys.argv[2])
try:
    Path(f"/proc/{pid}/cwd").readlink()
except PermissionError:
    print(is_in_folder(pid, folder), is_in_folder(pid, folder.parent), working_in(folder))
"""
# A worker of Granian whose main process is killed before the application is loaded: its handler
# for SIGTERM is still its parent's.
_ORPHAN = """
import multiprocessing, os, signal, sys, time
def work():
    print(os.getpid(), flush=True)
    while os.getppid() == main:
        time.sleep(0.05)
    import memoryadmin.wsgi
    print("serving", flush=True)
    time.sleep(60)
main = os.getpid()
signal.signal(signal.SIGTERM, lambda *args: None)
multiprocessing.get_context("fork").Process(target=work).start()
time.sleep(0.5)
os.kill(main, signal.SIGKILL)
"""


def test_a_process_lives_in_its_working_folder(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with subprocess.Popen(["sleep", "60"], cwd=tmp_path) as process:
        assert is_in_folder(process.pid, tmp_path)
        assert not is_in_folder(process.pid, other)
        assert working_in(tmp_path) == [process.pid]
        process.kill()
        eventually(lambda: not is_in_folder(process.pid, tmp_path))  # a zombie does not


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
def test_root_that_may_not_look_does_not_take_a_living_server_for_dead(tmp_path: Path) -> None:
    for folder in [tmp_path, *tmp_path.parents[:2]]:
        folder.chmod(0o711)
    place = tmp_path / "data"
    place.mkdir()
    os.chown(place, NOBODY, NOBODY)
    with subprocess.Popen(["sleep", "60"], cwd=place, user=NOBODY, group=NOBODY) as process:
        said = subprocess.run(
            [sys.executable, "-c", _WITHOUT_PTRACE, _ASK, str(process.pid), str(place)],
            cwd=ROOT, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        process.kill()

    assert said == "True False []\n"


def test_an_orphan_of_the_web_server_does_not_keep_the_port(tmp_path: Path) -> None:
    output = tmp_path / "said"
    with output.open("w") as file:
        subprocess.run(
            [sys.executable, "-c", _ORPHAN],
            cwd=ROOT,
            env=environment(tmp_path, DATABASE_URL="postgresql://127.0.0.1:1/none"),
            stdout=file,
            stderr=file,
            check=False,
        )
    pid = int(output.read_text().split()[0])

    eventually(lambda: not Path(f"/proc/{pid}").exists(), show=output.read_text)
    assert output.read_text() == f"{pid}\n"
