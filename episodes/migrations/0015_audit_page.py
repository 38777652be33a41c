from __future__ import annotations

import django.db.models.functions.datetime
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

import memoryadmin.lib.clock
import memoryadmin.lib.ids


class Migration(migrations.Migration):
    dependencies = [
        ("episodes", "0014_key_rotation"),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditCut",
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
                (
                    "at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        default=memoryadmin.lib.clock.now,
                    ),
                ),
                ("lane", models.SmallIntegerField()),
                ("number", models.BigIntegerField()),
                ("statement", models.JSONField()),
            ],
        ),
        migrations.CreateModel(
            name="AuditVerification",
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
                (
                    "started_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        default=memoryadmin.lib.clock.now,
                    ),
                ),
                ("asked_by", models.CharField(blank=True, default="", max_length=200)),
                ("finished_at", models.DateTimeField(null=True)),
                ("lane", models.SmallIntegerField(default=-1)),
                ("number", models.BigIntegerField(default=0)),
                ("chain", models.BinaryField(default=b"", max_length=32)),
                ("n_due", models.BigIntegerField(default=0)),
                ("entries", models.BigIntegerField(default=0)),
                ("lanes", models.IntegerField(default=0)),
                ("erased", models.BigIntegerField(default=0)),
                ("cut", models.BigIntegerField(default=0)),
                ("checkpoints", models.IntegerField(default=0)),
                ("unchained", models.BigIntegerField(default=0)),
                ("broken", models.JSONField(null=True)),
            ],
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(fields=["app", "actor", "-at", "-id"], name="auditentry_of_actor"),
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(
                condition=models.Q(("key_prefix", ""), _negated=True),
                fields=["app", "key_prefix", "-at", "-id"],
                name="auditentry_of_key",
            ),
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(
                condition=models.Q(("request_id", ""), _negated=True),
                fields=["app", "request_id"],
                name="auditentry_of_request",
            ),
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(
                condition=models.Q(
                    ("verb__endswith", ".read"),
                    ("verb__endswith", ".counted"),
                    ("verb__endswith", ".exported"),
                    ("verb__endswith", ".unmasked"),
                    _connector="OR",
                ),
                fields=["app", "-at", "-id"],
                name="auditentry_reads_of_app",
            ),
        ),
        migrations.AddConstraint(
            model_name="auditcut",
            constraint=models.UniqueConstraint(
                fields=("lane", "number"), name="episodes_auditcut_one_per_place"
            ),
        ),
        migrations.AddConstraint(
            model_name="auditcut",
            constraint=models.CheckConstraint(
                condition=models.Q(("number__gte", 1)), name="episodes_auditcut_takes_something"
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="auditcut",
            trigger=pgtrigger.compiler.Trigger(
                name="append_only",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n            \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n            RAISE EXCEPTION '% of % is refused: the table is append-only', TG_OP, TG_TABLE_NAME\n                USING ERRCODE = 'restrict_violation';\n        ",
                    hash="075fd06cc591e1c24a38eed56f5a158088149103",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_append_only_c07c2",
                    table="episodes_auditcut",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddIndex(
            model_name="auditverification",
            index=models.Index(
                models.OrderBy(models.F("finished_at"), descending=True),
                name="auditverification_newest",
            ),
        ),
        migrations.AddConstraint(
            model_name="auditverification",
            constraint=models.UniqueConstraint(
                condition=models.Q(("finished_at__isnull", True)),
                fields=("finished_at",),
                name="episodes_auditverification_one_unfinished",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="auditverification",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("finished_at__isnull", True),
                    ("finished_at__gte", models.F("started_at")),
                    _connector="OR",
                ),
                name="episodes_auditverification_ends_after_it_begins",
            ),
        ),
        migrations.AddConstraint(
            model_name="auditverification",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("broken__isnull", True), ("finished_at__isnull", False), _connector="OR"
                ),
                name="episodes_auditverification_ends_with_a_break",
            ),
        ),
    ]
