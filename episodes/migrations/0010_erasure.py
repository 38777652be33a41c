from __future__ import annotations

import django.db.models.deletion
import django.db.models.functions.datetime
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

import memoryadmin.lib.clock
import memoryadmin.lib.ids


class Migration(migrations.Migration):
    dependencies = [
        ("episodes", "0009_retention"),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditErasure",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=memoryadmin.lib.ids.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("erasure_id", models.UUIDField()),
                ("n", models.PositiveIntegerField()),
                ("statement", models.JSONField()),
            ],
        ),
        migrations.CreateModel(
            name="Erasure",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=memoryadmin.lib.ids.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("group_id", models.UUIDField(null=True)),
                ("subject_hash", models.BinaryField(max_length=32)),
                ("key_id", models.CharField(max_length=16)),
                ("user_id", models.CharField(max_length=256, null=True)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("scheduled", "Scheduled"),
                            ("running", "Running"),
                            ("verifying", "Verifying"),
                            ("verified", "Verified"),
                            ("on_hold", "On Hold"),
                            ("failed", "Failed"),
                        ],
                        default="scheduled",
                        max_length=16,
                    ),
                ),
                ("reason", models.TextField(blank=True, default="")),
                ("requested_by", models.CharField(max_length=200)),
                ("requested_role", models.CharField(blank=True, default="", max_length=16)),
                (
                    "requested_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        default=memoryadmin.lib.clock.now,
                    ),
                ),
                ("started_at", models.DateTimeField(null=True)),
                ("verified_at", models.DateTimeField(null=True)),
                ("physically_cleared_at", models.DateTimeField(null=True)),
                ("counts", models.JSONField(default=dict)),
                ("found", models.JSONField(default=dict)),
                ("position", models.CharField(blank=True, default="", max_length=128)),
                ("rounds", models.PositiveSmallIntegerField(default=0)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("last_error", models.CharField(blank=True, default="", max_length=64)),
                (
                    "next_attempt_at",
                    models.DateTimeField(default=memoryadmin.lib.clock.now, null=True),
                ),
                ("leased_until", models.DateTimeField(null=True)),
                ("lease", models.UUIDField(null=True)),
                ("is_in_ledger", models.BooleanField(default=False)),
                ("certificate", models.JSONField(null=True)),
                ("clearance", models.JSONField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="AuditErasedText",
            fields=[
                ("entry_id", models.UUIDField(primary_key=True, serialize=False)),
                ("batch_id", models.UUIDField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["batch_id", "entry_id"], name="auditerasedtext_of_batch")
                ],
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="auditerasedtext",
            trigger=pgtrigger.compiler.Trigger(
                name="append_only",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n            \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n            RAISE EXCEPTION '% of % is refused: the table is append-only', TG_OP, TG_TABLE_NAME\n                USING ERRCODE = 'restrict_violation';\n        ",
                    hash="0b146d9b4c7d315bb9327cdbe34209d3401cf17d",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_append_only_107dc",
                    table="episodes_auditerasedtext",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddIndex(
            model_name="auditerasure",
            index=models.Index(fields=["erasure_id"], name="auditerasure_of_erasure"),
        ),
        migrations.AddConstraint(
            model_name="auditerasure",
            constraint=models.CheckConstraint(
                condition=models.Q(("n__gte", 1)), name="episodes_auditerasure_removed_something"
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="auditerasure",
            trigger=pgtrigger.compiler.Trigger(
                name="append_only",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n            \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n            RAISE EXCEPTION '% of % is refused: the table is append-only', TG_OP, TG_TABLE_NAME\n                USING ERRCODE = 'restrict_violation';\n        ",
                    hash="fa59e7e6eeb8e25c0ed6e7329a251f1236ee491f",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_append_only_552a3",
                    table="episodes_auditerasure",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddField(
            model_name="erasure",
            name="app",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="episodes.app",
            ),
        ),
        migrations.AddIndex(
            model_name="erasure",
            index=models.Index(
                condition=models.Q(("user_id__isnull", False)),
                fields=["app", "user_id"],
                name="erasure_of_user",
            ),
        ),
        migrations.AddIndex(
            model_name="erasure",
            index=models.Index(
                condition=models.Q(("next_attempt_at__isnull", False)),
                fields=["next_attempt_at"],
                name="erasure_due",
            ),
        ),
        migrations.AddIndex(
            model_name="erasure",
            index=models.Index(
                models.F("app"),
                models.OrderBy(models.F("requested_at"), descending=True),
                models.OrderBy(models.F("id"), descending=True),
                name="erasure_newest_of_app",
            ),
        ),
        migrations.AddIndex(
            model_name="erasure",
            index=models.Index(
                condition=models.Q(
                    ("physically_cleared_at__isnull", True), ("verified_at__isnull", False)
                ),
                fields=["verified_at"],
                name="erasure_uncleared",
            ),
        ),
        migrations.AddConstraint(
            model_name="erasure",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "status__in",
                        ["scheduled", "running", "verifying", "verified", "on_hold", "failed"],
                    ),
                    ("status__isnull", False),
                ),
                name="episodes_erasure_status",
            ),
        ),
        migrations.AddConstraint(
            model_name="erasure",
            constraint=models.UniqueConstraint(
                models.F("app"),
                models.F("subject_hash"),
                condition=models.Q(
                    ("status__in", ("scheduled", "running", "verifying", "on_hold"))
                ),
                name="episodes_erasure_one_at_a_time",
            ),
        ),
        migrations.AddConstraint(
            model_name="erasure",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("status__in", ("scheduled", "running", "verifying", "on_hold")),
                        _negated=True,
                    ),
                    ("user_id__isnull", False),
                    _connector="OR",
                ),
                name="episodes_erasure_unfinished_knows_its_subject",
            ),
        ),
        migrations.AddConstraint(
            model_name="erasure",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("certificate__isnull", False),
                        ("status", "verified"),
                        ("user_id__isnull", True),
                        ("verified_at__isnull", False),
                    ),
                    models.Q(
                        models.Q(("status", "verified"), _negated=True),
                        ("certificate__isnull", True),
                        ("verified_at__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="episodes_erasure_verified_is_signed_and_nameless",
            ),
        ),
        migrations.AddConstraint(
            model_name="erasure",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("clearance__isnull", True), ("physically_cleared_at__isnull", True)),
                    models.Q(
                        ("clearance__isnull", False),
                        ("physically_cleared_at__isnull", False),
                        ("status", "verified"),
                    ),
                    _connector="OR",
                ),
                name="episodes_erasure_cleared_is_signed",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="erasure",
            trigger=pgtrigger.compiler.Trigger(
                name="signed_is_final",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n    IF TG_OP = 'UPDATE' AND (OLD.certificate IS NULL\n       OR OLD.clearance IS NULL\n       AND to_jsonb(NEW) - ARRAY['clearance', 'physically_cleared_at']\n           = to_jsonb(OLD) - ARRAY['clearance', 'physically_cleared_at']) THEN\n        RETURN NEW;\n    END IF;\n    RAISE EXCEPTION '% of % is refused: what an erasure has signed stays', TG_OP, TG_TABLE_NAME\n        USING ERRCODE = 'restrict_violation';\n",
                    hash="e87454f53f5ebf8783bcd3d9f505e485e6fabdf3",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_signed_is_final_2010d",
                    table="episodes_erasure",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.RunSQL(
            sql="""
                ALTER TABLE episodes_erasure DROP CONSTRAINT episodes_erasure_pkey;
                ALTER TABLE episodes_erasure
                    ADD CONSTRAINT episodes_erasure_pkey PRIMARY KEY (id, app_id);
            """,
            reverse_sql="""
                ALTER TABLE episodes_erasure DROP CONSTRAINT episodes_erasure_pkey;
                ALTER TABLE episodes_erasure ADD CONSTRAINT episodes_erasure_pkey PRIMARY KEY (id);
            """,
        ),
    ]
