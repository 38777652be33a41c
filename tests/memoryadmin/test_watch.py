from __future__ import annotations

from pathlib import Path

import pytest

from memoryadmin.watch import Watch


def test_a_database_that_does_not_come_back_is_looked_after_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torn = tmp_path / "postgres" / "data"
    torn.mkdir(parents=True)
    (torn / "PG_VERSION").write_text("1\n")
    for folder in [tmp_path, *tmp_path.parents[:2]]:
        folder.chmod(0o711)
    monkeypatch.setenv("MEMORYADMIN_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("MEMORYADMIN_EMBEDDED", "1")
    said: list[str] = []
    watch = Watch("http://127.0.0.1:9", say=said.append)

    watch()
    watch()

    assert len(said) == 1  # the second look is not due yet
    assert said[0].startswith("PostgreSQL did not start: ")
    assert said[0].endswith("again in 2 s")
