"""What is signed about an erasure, and that a changed byte is found."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pgtrigger
import pytest

from episodes.audit.verify import verify_audit
from episodes.erasure.certificate import (
    KIND,
    NoCertificateError,
    as_file,
    clear,
    verify_file,
)
from episodes.erasure.request import request_erasure
from episodes.models import App, AuditErasedText, AuditErasure, Erasure
from episodes.tombstones import subject_hash
from memoryadmin.lib import erasable, ids
from memoryadmin.lib.signing import BadSignatureError, own_public_key, sign
from tests.erasure.scene import finish
from tests.factories import ACTOR, make_app, make_episode

pytestmark = pytest.mark.django_db


@pytest.fixture
def app() -> App:
    return make_app()


@pytest.fixture
def done(app: App) -> Erasure:
    make_episode(app, user_id="jane-4471", embedded=True)
    return finish(request_erasure(app=app, user_id="jane-4471", actor=ACTOR, reason="Asked."))


def test_it_says_what_was_done_and_names_nobody(app: App, done: Erasure) -> None:
    signed = done.certificate
    assert signed is not None
    body: Any = signed["body"]

    assert signed["kind"] == KIND
    assert (body["app"], body["erasure"], body["total"]) == (app.name, str(done.pk), done.total)
    assert set(body["counts"]) == {store.name for store in erasable.stores()}
    assert (body["counts"]["episodes"], body["counts"]["revisions"]) == (1, 1)
    assert body["subject_hash"] == subject_hash(app_id=app.pk, user_id="jane-4471").hex()
    assert body["audit_texts"]["n"] == done.counts["audit_texts"]
    assert body["looked"]["found"] == 0
    assert body["looked"]["tables"] > 40
    assert "jane" not in json.dumps(signed)


def test_a_file_is_checked_here_and_by_whoever_has_the_public_key(done: Erasure) -> None:
    content = as_file(done)

    assert verify_file(content).body["erasure"] == str(done.pk)
    assert verify_file(content, public_key=own_public_key()).cleared_at is None
    assert verify_file(orjson.dumps(done.certificate)).key_id == verify_file(content).key_id


def test_every_changed_byte_is_found(done: Erasure) -> None:
    assert done.certificate is not None
    content = orjson.dumps({name: done.certificate[name] for name in ("kind", "body", "signature")})
    rest = orjson.dumps({name: done.certificate[name] for name in ("key_id", "public_key")})
    whole = content[:-1] + b"," + rest[1:]
    assert verify_file(whole).body["erasure"] == str(done.pk)

    for at in range(len(content) - 1):
        changed = bytearray(whole)
        changed[at] ^= 1
        with pytest.raises((BadSignatureError, NoCertificateError)):
            verify_file(bytes(changed))


def test_a_statement_of_another_kind_or_key_is_none(done: Erasure, settings: Any) -> None:
    other = sign("audit checkpoint", {"erasure": str(done.pk)})
    with pytest.raises(BadSignatureError):
        verify_file(orjson.dumps(other.as_json()))
    for nothing in (b"", b"[]", b"{}", b'{"certificate": null}', b'"text"', b"1"):
        with pytest.raises(NoCertificateError):
            verify_file(nothing)
    content = as_file(done)
    settings.SIGNING_KEY = "another key of another installation"
    with pytest.raises(BadSignatureError):
        verify_file(content)


def test_the_second_date_belongs_to_its_certificate(app: App, done: Erasure) -> None:
    make_episode(app, user_id="other")
    other = finish(request_erasure(app=app, user_id="other", actor=ACTOR))
    scrub = {"began_at": "2026-11-30T02:00:00+00:00", "ended_at": "2026-11-30T02:00:09+00:00"}
    cleared = clear(done, scrub=scrub).as_json()

    both = {"certificate": done.certificate, "clearance": cleared}
    assert verify_file(orjson.dumps(both)).cleared_at == scrub["ended_at"]
    with pytest.raises(BadSignatureError):
        verify_file(orjson.dumps(both | {"certificate": other.certificate}))


def test_a_text_may_be_missing_only_by_a_signed_record(done: Erasure) -> None:
    assert (verify_audit().broken, verify_audit().erased) == (None, done.counts["audit_texts"])
    batch = AuditErasure.objects.get(erasure_id=done.pk)

    with pgtrigger.ignore():
        AuditErasure.objects.filter(pk=batch.pk).update(
            statement={**batch.statement, "signature": sign("x", {}).signature}
        )
    broken = verify_audit().broken
    assert broken is not None
    assert broken.what == "a text is missing"

    with pgtrigger.ignore():
        AuditErasure.objects.filter(pk=batch.pk).update(statement=batch.statement)
        # a text that somebody removed by hand, and a row that says an erasure did
        AuditErasedText.objects.create(entry_id=ids.new_id(), batch_id=batch.pk)
    broken = verify_audit().broken
    assert broken is not None
    assert broken.what == "a text is missing"
