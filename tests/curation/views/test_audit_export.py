"""Files of the audit: what a reader can check, and that none of it is gathered in memory."""

from __future__ import annotations

import base64
import csv
import hashlib
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from itertools import islice
from typing import Any

import orjson
import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from curation.audit.filters import AuditFilterForm
from curation.audit.lines import ndjson_lines
from curation.reading.audit import STRETCH, stream_entries
from episodes import audit
from episodes.models import App, AuditEntry, AuditPayload
from memoryadmin.lib import clock
from tests.factories import ACTOR, make_app


def note_each(app: App | None, n: int, **said: Any) -> list[AuditEntry]:
    with transaction.atomic():
        return audit.record_each(
            actor=ACTOR,
            verb="note.written",
            target_kind="note",
            app=app,
            changes=[audit.Change(number, user_id="user-1") for number in range(n)],
            **said,
        )


def export(client: Client, app: App, form: str, query: str = "?verb=note") -> str:
    answer = client.post(f"/apps/{app.name}/audit/export/{query}", {"form": form})
    assert answer.status_code == 200
    assert (
        answer.headers["Content-Disposition"] == f'attachment; filename="audit-{app.name}.{form}"'
    )
    return b"".join(answer).decode()


def check(row: dict[str, Any], before: bytes | None) -> bytes:
    """What a reader does with one entry, by hashes alone; the chain before it, if they have that."""
    text = hashlib.sha256(bytes.fromhex(row["salt"]) + row["text"].encode()).hexdigest()
    assert text == row["payload_digest"]
    said = [row["id"], row["app_id"], row["at"], row["actor"], row["actor_kind"], row["role"]]
    said += [row["key_prefix"], row["verb"], row["target_kind"], row["target_id"]]
    said += [row["request_id"], row["payload_digest"]]
    digest = hashlib.sha256(orjson.dumps(said))
    assert digest.hexdigest() == row["entry_digest"]
    if before is not None:
        chained = before + int(row["number"]).to_bytes(8, "big") + digest.digest()
        assert hashlib.sha256(chained).hexdigest() == row["chain"]
    return bytes.fromhex(row["chain"])


def test_a_reader_can_check_every_line(app: App, compliance: Client) -> None:
    note_each(app, 5, reason="Grüße; =1")
    note_each(make_app(), 2)

    *lines, last = export(compliance, app, "ndjson").splitlines()
    rows = [orjson.loads(line) for line in lines]

    assert [row["target_id"] for row in rows] == ["4", "3", "2", "1", "0"]
    before = None
    for row in reversed(rows):
        before = check(row, before)
    whole = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
    assert orjson.loads(last) == {"end": True, "entries": 5, "sha256": whole}


def test_a_spreadsheet_reckons_with_nothing_and_the_text_can_be_checked(
    app: App, compliance: Client
) -> None:
    actor = audit.Actor(name='=HYPERLINK("x")', kind=ACTOR.kind)
    with transaction.atomic():
        audit.record(
            actor=actor,
            verb="note.written",
            target_kind="note",
            target_id="+1",
            app=app,
            user_id="@SUM(1)",
            reason="a;=1+1",
        )

    text = export(compliance, app, "csv")
    [row] = csv.DictReader(StringIO(text))

    assert (row["actor"], row["target_id"]) == ('\'=HYPERLINK("x")', "'+1")
    assert row["user_id"] == "'@SUM(1)"
    assert "a;'=1+1" in row["text"]
    as_hashed = row | {
        "text": base64.b64decode(row["text_base64"]).decode(),
        "app_id": int(row["app_id"]),
        **{"actor": actor.name, "target_id": "+1"},
    }
    check(as_hashed, None)


def test_a_text_that_was_erased_is_none(app: App, compliance: Client) -> None:
    [entry] = note_each(app, 1)
    rows = [(entry, None)]

    [line, _] = [orjson.loads(line) for line in ndjson_lines(rows)]

    assert (line["text"], line["salt"], line["user_id"]) == (None, None, None)
    assert line["payload_digest"] == bytes(entry.payload_digest).hex()


def test_an_export_is_recorded_before_it_is_sent_with_what_it_holds(
    app: App, compliance: Client
) -> None:
    note_each(app, 3)

    answer = compliance.post(
        f"/apps/{app.name}/audit/export/?verb=note.written&way=changes", {"form": "csv"}
    )

    entry = AuditEntry.objects.get(verb="audit.exported")
    said = AuditPayload.objects.get(entry_id=entry.id).payload["after"]
    assert (entry.actor, entry.app_id) == ("compliance", app.pk)
    assert said == {"form": "csv", "entries": 3, "verb": "note.written", "way": "changes"}
    assert answer.streaming


@pytest.mark.parametrize(("query", "form"), [("", "xlsx"), ("?since=x", "csv")])
def test_what_cannot_be_exported_is_not_recorded(
    app: App, compliance: Client, query: str, form: str
) -> None:
    answer = compliance.post(f"/apps/{app.name}/audit/export/{query}", {"form": form})

    assert answer.status_code == 422
    assert not AuditEntry.objects.filter(verb="audit.exported").exists()


def test_it_reads_a_stretch_at_a_time(app: App) -> None:
    """The first line needs one stretch of entries and their texts, not all of them."""
    note_each(app, 2 * STRETCH + 1)
    form = AuditFilterForm({"verb": "note"})
    assert form.is_valid()

    def entries() -> Iterator[Any]:
        until = clock.now() + timedelta(minutes=1)
        return stream_entries(app_id=app.pk, asked=form.cleaned_data, until=until)

    with CaptureQueriesContext(connection) as first:
        assert len(list(islice(ndjson_lines(entries()), STRETCH))) == STRETCH
    with CaptureQueriesContext(connection) as all_of_it:
        lines = list(ndjson_lines(entries()))

    assert (len(first), len(all_of_it)) == (2, 6)
    assert len({orjson.loads(line)["id"] for line in lines[:-1]}) == 2 * STRETCH + 1
    assert orjson.loads(lines[-1])["entries"] == 2 * STRETCH + 1
