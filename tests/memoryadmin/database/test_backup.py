"""A backup, and a server made of it: everything there, and the erasures since found and repeated."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pgtrigger
import psycopg
import pytest
from django.db import transaction

from episodes.audit.checkpoints import write_checkpoint
from episodes.audit.verify import verify_audit
from episodes.models import AuditEntry
from memoryadmin.database import backup
from memoryadmin.database.backup import BackupError, is_empty, load_backup, make_backup
from memoryadmin.database.postgres import EmbeddedServer
from memoryadmin.database.restored import note_restored, objections
from tests import conftest
from tests.factories import ACTOR, make_app, make_body, make_episode, make_tombstone
from tests.memoryadmin.running import ROOT, environment

_CASTS = re.compile(r"::(?:character varying|text)(?:\[\])?|[()]")
DRIVER = """
import io, json, sys
import django
from django.core.management import CommandError, call_command
from memoryadmin.database import postgres

said = []
with postgres.database():
    django.setup()
    for command in json.loads(sys.argv[1]):
        out = io.StringIO()
        try:
            call_command(*command, stdout=out, stderr=out)
        except CommandError as error:
            out.write(f"CommandError: {error}")
        said.append(out.getvalue())
print(json.dumps(said))
"""
KEYS = ("secret_key", "hash_key", "signing_key")
# What makes a database more than its rows, each as (what, where, how).
CATALOGUE = """
WITH relations AS (SELECT oid, relacl, relkind::text || relpersistence::text || relrowsecurity
        || relforcerowsecurity AS said, oid::regclass::text AS name FROM pg_class
    WHERE relnamespace IN ('public'::regnamespace, 'pgmq'::regnamespace))
SELECT 'column', name, attname || ' ' || format_type(atttypid, atttypmod)
        || attnotnull || coalesce(pg_get_expr(adbin, adrelid), '')
    FROM relations JOIN pg_attribute ON attrelid = oid
        LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)
    WHERE attnum > 0 AND NOT attisdropped
UNION ALL SELECT 'constraint', name, conname || pg_get_constraintdef(c.oid) || convalidated
    FROM relations JOIN pg_constraint c ON conrelid = relations.oid
UNION ALL SELECT 'index', name, pg_get_indexdef(indexrelid)
    FROM relations JOIN pg_index ON indrelid = oid
UNION ALL SELECT 'trigger', name, pg_get_triggerdef(t.oid) || tgenabled::text
    FROM relations JOIN pg_trigger t ON tgrelid = relations.oid AND NOT tgisinternal
UNION ALL SELECT 'function', f.oid::regprocedure::text, pg_get_functiondef(f.oid)
    || coalesce((SELECT string_agg(one::text, ' ' ORDER BY one::text) FROM unnest(proacl) one), '')
    FROM pg_proc f WHERE prokind = 'f'
        AND pronamespace IN ('public'::regnamespace, 'pgmq'::regnamespace)
UNION ALL SELECT 'rights', name, said || coalesce((
    SELECT string_agg(one::text, ' ' ORDER BY one::text) FROM unnest(relacl) one), '')
    FROM relations
UNION ALL SELECT 'schema', nspname, (
    SELECT string_agg(one::text, ' ' ORDER BY one::text) FROM unnest(nspacl) one)
    FROM pg_namespace WHERE nspname IN ('public', 'pgmq')
UNION ALL SELECT 'policy', name, polname || polcmd::text
    || coalesce(pg_get_expr(polqual, polrelid), '')
    || coalesce(pg_get_expr(polwithcheck, polrelid), '') || (
        SELECT string_agg(coalesce(r.rolname, 'public'), ' ' ORDER BY r.rolname)
        FROM unnest(polroles) one LEFT JOIN pg_roles r ON r.oid = one)
    FROM relations JOIN pg_policy ON polrelid = relations.oid
UNION ALL SELECT 'comment', name || objsubid, description
    FROM relations JOIN pg_description ON (objoid, classoid) = (oid, 'pg_class'::regclass)
UNION ALL SELECT 'default', defaclobjtype::text, defaclacl::text FROM pg_default_acl
UNION ALL SELECT 'extension', extname, extversion FROM pg_extension
ORDER BY 1, 2, 3
"""


@pytest.fixture
def folders() -> Iterator[tuple[Path, Path]]:
    made = Path(tempfile.mkdtemp(prefix="ma-"))
    made.chmod(0o711)
    first, second = made / "first", made / "second"
    for folder in (first, second):
        folder.mkdir()
    yield first, second
    shutil.rmtree(made)


class Installation:
    """A data folder with a running server of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.server = folder, EmbeddedServer(folder)

    def manage(self, *arguments: str, fails: bool = False) -> str:
        done = self._python("manage.py", *arguments)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    def manage_all(self, *commands: Sequence[str]) -> list[str]:
        """Run them in one program, and return what each said, an error among it."""
        done = self._python("-c", DRIVER, json.dumps(commands), MEMORYADMIN_DB_ROLE="owner")
        assert done.returncode == 0, done.stderr
        said: list[str] = json.loads(done.stdout.splitlines()[-1])
        return said

    def _python(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=environment(
                self.folder, DJANGO_SETTINGS_MODULE="memoryadmin.settings", **variables
            ),
            capture_output=True,
            text=True,
            check=False,
        )

    def query(self, sql: str) -> list[Any]:
        with psycopg.connect(self.server.owner_dsn) as connection:
            return connection.execute(sql).fetchall()

    def catalogue(self) -> list[tuple[str, ...]]:
        """What was made anew of its own text says the same with other casts and brackets."""
        return sorted(
            tuple(_CASTS.sub("", part or "") for part in row) for row in self.query(CATALOGUE)
        )

    def counts(self) -> dict[str, int]:
        """Rows by table, but for the queues' messages, which are no part of a backup."""
        tables = self.query(
            "SELECT oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'p')"
            " AND relpersistence = 'p' AND relnamespace IN ('public'::regnamespace,"
            " 'pgmq'::regnamespace)"
        )
        return {
            table: self.query(f"SELECT count(*) FROM {table}")[0][0]  # noqa: S608
            for (table,) in sorted(tables)
            if not table.startswith("pgmq.q_")
        }

    def ingest(self, *user_ids: str) -> list[str]:
        """Return the command that writes two sessions of each."""
        file = self.folder / f"of-{'-'.join(user_ids)}.jsonl"
        bodies = [make_body(user_id, f"s-{number}") for user_id in user_ids for number in range(2)]
        file.write_text("\n".join(map(json.dumps, bodies)))
        return ["ingest", "--app", "shop", "--format", "episode", "--json", str(file)]


def test_a_backup_from_before_an_erasure_is_brought_up_to_date(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    """With real servers and programs, from one data folder into another one."""
    first, second = map(Installation, folders)
    file = tmp_path / "memory.backup"
    with first.server.in_use():
        first.manage_all(
            ["migrate", "--verbosity", "0"],
            ["apikey", "--app", "shop", "--create-app", "--scopes", "ingest"],
            first.ingest("user-1", "user-2"),
            ["migrate", "--verbosity", "0"],  # now there are vectors to make an index for
            ["verify_audit", "--checkpoint"],
        )

        assert "MB" in first.manage("backup", str(file))
        assert file.stat().st_mode & 0o777 == 0o600
        stored, catalogue = first.counts(), first.catalogue()
        [(queued,)] = first.query("SELECT count(*) FROM pgmq.q_memoryadmin")
        *_, again, elsewhere = first.manage_all(
            ["erase_user", "--app", "shop", "user-1"],
            ["verify_audit", "--checkpoint"],
            ["backup", str(file)],
            ["restore", str(file)],
        )
    assert queued > 0
    assert ("is there already" in again, "not empty" in elsewhere) == (True, True)

    for name in (*KEYS, "ledger.jsonl"):  # the ledger as it is now, not as it was then
        shutil.copy(first.folder / name, second.folder / name)
    with second.server.in_use():
        assert "1 erasures were made after this backup" in second.manage("restore", str(file))

        # that it was restored is on record, and nothing else is new or gone
        more = {"episodes_auditentry": 1, "episodes_auditpayload": 1}
        assert second.counts() == {table: n + more.get(table, 0) for table, n in stored.items()}
        assert second.query("SELECT count(*) FROM pgmq.q_memoryadmin") == [(0,)]
        assert second.catalogue() == catalogue

        said = second.manage_all(
            ["migrate"],
            ["check", "--database", "default"],
            ["verify_audit"],
            ["check_restore"],
            ["check_restore", "--apply"],
            ["check_restore"],
            ["export", "--app", "shop"],
            second.ingest("user-1"),
            second.ingest("user-3"),
            ["verify_audit", "--checkpoint"],
            ["verify_audit"],
        )
    assert "No migrations to apply" in said[0]
    assert "no issues" in said[1]
    assert "1 erasures of the ledger are missing" in said[3]
    assert "1 erasures were carried out again" in said[4]
    assert "knows every erasure" in said[5]
    exported = [json.loads(line) for line in said[6].splitlines()[:-1]]
    assert [line["user_id"] for line in exported] == ["user-2", "user-2"]
    assert "subject_erased" in said[7]
    assert '"created": 2' in said[8]
    assert [text for n in (2, 9, 10) if "CommandError" in (text := said[n])] == []


def test_without_its_keys_and_ledger_nobody_is_served_from_it(db: None, settings: Any) -> None:
    app = make_app()
    make_tombstone(app, "user-1")
    write_checkpoint()
    assert list(objections()) == []

    kept = settings.LEDGER_PATH.read_bytes()
    settings.LEDGER_PATH.unlink()
    assert list(objections()) == [
        "the ledger (MEMORYADMIN_LEDGER) does not know this backup's last checkpoint"
    ]
    settings.LEDGER_PATH.write_bytes(kept)
    settings.HASH_KEY = "another key of the same length, or more of it"
    settings.SIGNING_KEY = "another key of the same length, or more of it"
    assert [said.partition(" is not the one")[0] for said in objections()] == [
        "MEMORYADMIN_HASH_KEY",
        "MEMORYADMIN_SIGNING_KEY",
    ]


def test_what_was_signed_after_the_backup_is_of_entries_that_were_lost(db: None) -> None:
    """The ledger goes on with the restored audit, and holds it to all that came before and since."""
    app = make_app()
    write_checkpoint()
    before = transaction.savepoint()
    make_episode(app)
    write_checkpoint()
    transaction.savepoint_rollback(before)  # as a backup would bring it back

    assert str(verify_audit().broken).startswith("a checkpoint's entry is missing")
    restored = note_restored(actor=ACTOR)

    assert (restored.lost > 0, verify_audit().broken) == (True, None)
    make_episode(app)
    write_checkpoint()
    assert verify_audit().broken is None
    with pgtrigger.ignore():
        AuditEntry.objects.filter(verb="app.created").update(verb="app.removed")
    assert str(verify_audit().broken).startswith("an entry was changed")


def test_a_file_that_is_none_leaves_an_empty_database(
    folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = EmbeddedServer(folders[0])
    with server.in_use():
        dsn = server.owner_dsn
        with pytest.raises(BackupError, match="there is no file"):
            load_backup(dsn, tmp_path / "none")
        (tmp_path / "torn").write_bytes(b"PGDMP\x01")
        with pytest.raises(BackupError, match="pg_restore failed"):
            load_backup(dsn, tmp_path / "torn")
        assert is_empty(dsn)

        monkeypatch.setattr(backup, "_QUEUES", ("a.b.c.d",))
        with pytest.raises(BackupError, match="pg_dump failed"):
            make_backup(dsn, tmp_path / "new")
    assert list(tmp_path.glob("new*")) == []


def test_of_two_backups_at_once_one_stands_and_is_whole(db: None, tmp_path: Path) -> None:
    wanted, dsn = tmp_path / "file", conftest.test_dsn()

    def attempt() -> object:
        try:
            return make_backup(dsn, wanted)
        except BackupError as error:
            return str(error)

    with ThreadPoolExecutor() as pool:
        ends = {first.result() for first in [pool.submit(attempt), pool.submit(attempt)]}

    assert ends == {wanted.stat().st_size, f"{wanted} is there already"}
    assert "episodes_episode" in backup._contents(dsn, wanted)
    assert list(tmp_path.iterdir()) == [wanted]


def test_a_password_is_in_no_argument(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[Any] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        seen.append((command, options["env"].get("PGPASSWORD")))
        return subprocess.CompletedProcess(command, 0, b"", b"")

    monkeypatch.setattr(backup, "_program", lambda name, dsn: Path("/bin") / name)
    monkeypatch.setattr(subprocess, "run", run)

    make_backup("postgresql://owner:se%20cret@db.example.org/memory", tmp_path / "file")

    [(command, password)] = seen
    assert password == "se cret"
    assert "cret" not in " ".join(command)
    assert "dbname=memory" in " ".join(command)
