from __future__ import annotations

import hashlib
from typing import Any

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
from django.conf import settings
from django.db import migrations, models

# What episodes/tombstones.py keeps of a subject: HMAC-SHA256 under MEMORYADMIN_HASH_KEY over the
# app's id, a NUL and the subject's id. In SQL, because a day's records may be many.
CONVERT = """
UPDATE episodes_idempotencyrecord record SET subject_hashes = ARRAY(
    SELECT sha256(%(outer)s::bytea || sha256(%(inner)s::bytea
        || convert_to(record.app_id::text, 'UTF8') || decode('00', 'hex')
        || convert_to(named, 'UTF8')))
    FROM unnest(record.user_ids) WITH ORDINALITY AS each (named, place) ORDER BY place)
WHERE user_ids <> '{}'
"""
# Whom a hash means is not known, and a record that no erasure finds must not stay.
FORGET = "DELETE FROM episodes_idempotencyrecord WHERE subject_hashes <> '{}'"


def hash_subjects(apps: Any, schema_editor: Any) -> None:
    key = settings.HASH_KEY.encode()
    if len(key) > 64:
        key = hashlib.sha256(key).digest()
    key = key.ljust(64, b"\0")
    pads = {"outer": bytes(one ^ 0x5C for one in key), "inner": bytes(one ^ 0x36 for one in key)}
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(CONVERT, pads)


def forget_subjects(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(FORGET)


class Migration(migrations.Migration):
    dependencies = [
        ("episodes", "0017_descriptions_by_revision"),
    ]

    operations = [
        migrations.AddField(
            model_name="idempotencyrecord",
            name="subject_hashes",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.BinaryField(max_length=32), default=list, size=None
            ),
        ),
        migrations.RunPython(hash_subjects, forget_subjects),
        migrations.RemoveIndex(model_name="idempotencyrecord", name="idempotencyrecord_of_user"),
        migrations.RemoveField(model_name="idempotencyrecord", name="user_ids"),
        migrations.AddIndex(
            model_name="idempotencyrecord",
            index=django.contrib.postgres.indexes.GinIndex(
                fields=["subject_hashes"], name="idempotencyrecord_of_subject"
            ),
        ),
    ]
