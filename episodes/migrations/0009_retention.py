from __future__ import annotations

import django.db.models.deletion
import django.db.models.functions.datetime
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

import memoryadmin.lib.clock
import memoryadmin.lib.ids


# As migration 0003 does it: the app is in every unique key.
def widen(table):
    return migrations.RunSQL(
        sql=f"""
            ALTER TABLE {table} DROP CONSTRAINT {table}_pkey;
            ALTER TABLE {table} ADD CONSTRAINT {table}_pkey PRIMARY KEY (id, app_id);
        """,
        reverse_sql=f"""
            ALTER TABLE {table} DROP CONSTRAINT {table}_pkey;
            ALTER TABLE {table} ADD CONSTRAINT {table}_pkey PRIMARY KEY (id);
        """,
    )


class Migration(migrations.Migration):
    dependencies = [("episodes", "0008_holds")]
    operations = [
        migrations.CreateModel(
            name="RetentionPolicy",
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
                ("name", models.CharField(max_length=100)),
                ("position", models.PositiveSmallIntegerField()),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("success", "Success"),
                            ("partial", "Partial"),
                            ("failure", "Failure"),
                            ("escalated", "Escalated"),
                            ("abandoned", "Abandoned"),
                            ("unknown", "Unknown"),
                        ],
                        max_length=16,
                        null=True,
                    ),
                ),
                (
                    "scope",
                    models.CharField(
                        choices=[("user", "User"), ("org", "Org")], max_length=8, null=True
                    ),
                ),
                (
                    "review_state",
                    models.CharField(
                        choices=[
                            ("unreviewed", "Unreviewed"),
                            ("reviewed", "Reviewed"),
                            ("changed_after_review", "Changed After Review"),
                        ],
                        max_length=24,
                        null=True,
                    ),
                ),
                ("promoted", models.BooleanField(null=True)),
                ("age_days", models.PositiveIntegerField(null=True)),
                ("keep_newest", models.PositiveIntegerField(null=True)),
                ("retired_days", models.PositiveIntegerField(null=True)),
                (
                    "made_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        default=memoryadmin.lib.clock.now,
                    ),
                ),
                ("made_by", models.CharField(default="", max_length=200)),
                ("ended_at", models.DateTimeField(null=True)),
                ("ended_by", models.CharField(blank=True, default="", max_length=200)),
            ],
        ),
        migrations.CreateModel(
            name="RetentionRun",
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
                ("as_of", models.DateTimeField()),
                ("retention_version", models.PositiveIntegerField()),
                (
                    "started_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        default=memoryadmin.lib.clock.now,
                    ),
                ),
                ("finished_at", models.DateTimeField(null=True)),
                ("worked", models.FloatField(default=0.0)),
                ("batches", models.PositiveIntegerField(default=0)),
                (
                    "policies",
                    models.JSONField(db_default=models.Value([], models.JSONField()), default=list),
                ),
                (
                    "stores",
                    models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict),
                ),
                (
                    "sample",
                    models.JSONField(db_default=models.Value([], models.JSONField()), default=list),
                ),
                ("n_held", models.PositiveIntegerField(default=0)),
                ("n_busy", models.PositiveIntegerField(default=0)),
                ("space", models.CharField(blank=True, default="", max_length=32)),
            ],
        ),
        migrations.AddField(
            model_name="app",
            name="log_days",
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="app",
            name="retention_rules",
            field=models.JSONField(db_default=models.Value([], models.JSONField()), default=list),
        ),
        migrations.AddField(
            model_name="app",
            name="retention_version",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="app",
            name="swept_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="episode",
            name="promoted",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="recall",
            name="retention",
            field=models.JSONField(db_default=models.Value([], models.JSONField()), default=list),
        ),
        migrations.AddIndex(
            model_name="feedback",
            index=models.Index(fields=["app", "received_at"], name="feedback_expiry"),
        ),
        migrations.AddConstraint(
            model_name="app",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("log_days__isnull", True),
                    models.Q(("log_days__gte", 1), ("log_days__lte", 36500)),
                    _connector="OR",
                ),
                name="episodes_app_log_from_a_day_to_a_century",
            ),
        ),
        migrations.AddField(
            model_name="retentionpolicy",
            name="app",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="episodes.app",
            ),
        ),
        migrations.AddField(
            model_name="retentionrun",
            name="app",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="episodes.app",
            ),
        ),
        migrations.AddConstraint(
            model_name="retentionpolicy",
            constraint=models.UniqueConstraint(
                condition=models.Q(("ended_at__isnull", True)),
                fields=("app", "position"),
                name="episodes_retentionpolicy_one_standing",
            ),
        ),
        migrations.AddConstraint(
            model_name="retentionpolicy",
            constraint=models.CheckConstraint(
                condition=models.Q(("name", ""), _negated=True),
                name="episodes_retentionpolicy_has_a_name",
            ),
        ),
        migrations.AddConstraint(
            model_name="retentionpolicy",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("age_days__isnull", False),
                    ("keep_newest__isnull", False),
                    ("retired_days__isnull", False),
                    _connector="OR",
                ),
                name="episodes_retentionpolicy_ends_something",
            ),
        ),
        migrations.AddConstraint(
            model_name="retentionpolicy",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("age_days__isnull", True),
                        models.Q(("age_days__gte", 1), ("age_days__lte", 36500)),
                        _connector="OR",
                    ),
                    models.Q(
                        ("keep_newest__isnull", True), ("keep_newest__gte", 1), _connector="OR"
                    ),
                    models.Q(
                        ("retired_days__isnull", True),
                        models.Q(("retired_days__gte", 1), ("retired_days__lte", 36500)),
                        _connector="OR",
                    ),
                ),
                name="episodes_retentionpolicy_in_bounds",
            ),
        ),
        migrations.AddConstraint(
            model_name="retentionpolicy",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("ended_at__isnull", True),
                    ("ended_at__gte", models.F("made_at")),
                    _connector="OR",
                ),
                name="episodes_retentionpolicy_ends_after_it_begins",
            ),
        ),
        migrations.AddConstraint(
            model_name="retentionpolicy",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        (
                            "outcome__in",
                            ["success", "partial", "failure", "escalated", "abandoned", "unknown"],
                        ),
                        ("outcome__isnull", False),
                    ),
                    ("outcome__isnull", True),
                    _connector="OR",
                ),
                name="episodes_retentionpolicy_outcome",
            ),
        ),
        migrations.AddConstraint(
            model_name="retentionpolicy",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("scope__in", ["user", "org"]), ("scope__isnull", False)),
                    ("scope__isnull", True),
                    _connector="OR",
                ),
                name="episodes_retentionpolicy_scope",
            ),
        ),
        migrations.AddConstraint(
            model_name="retentionpolicy",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("review_state__in", ["unreviewed", "reviewed", "changed_after_review"]),
                        ("review_state__isnull", False),
                    ),
                    ("review_state__isnull", True),
                    _connector="OR",
                ),
                name="episodes_retentionpolicy_review_state",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="retentionpolicy",
            trigger=pgtrigger.compiler.Trigger(
                name="closed_once",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n                \n                IF TG_OP = 'UPDATE' AND OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL\n                   AND to_jsonb(NEW) - ARRAY['ended_at', 'ended_by'] = to_jsonb(OLD) - ARRAY['ended_at', 'ended_by'] THEN\n                    RETURN NEW;\n                END IF;\n                RAISE EXCEPTION '% of % is refused: a row is closed once and otherwise never changed',\n                    TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';\n            ",
                    hash="f20e89c8d8c25d34437abea9e4bbe4455dedd49a",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_closed_once_12a02",
                    table="episodes_retentionpolicy",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddIndex(
            model_name="retentionrun",
            index=models.Index(
                models.F("app"),
                models.OrderBy(models.F("started_at"), descending=True),
                models.OrderBy(models.F("id"), descending=True),
                name="retentionrun_newest_of_app",
            ),
        ),
        migrations.AddConstraint(
            model_name="retentionrun",
            constraint=models.UniqueConstraint(
                condition=models.Q(("finished_at__isnull", True)),
                fields=("app",),
                name="episodes_retentionrun_one_unfinished",
            ),
        ),
        migrations.AddConstraint(
            model_name="retentionrun",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("finished_at__isnull", True),
                    ("finished_at__gte", models.F("started_at")),
                    _connector="OR",
                ),
                name="episodes_retentionrun_ends_after_it_begins",
            ),
        ),
        *map(widen, ["episodes_retentionpolicy", "episodes_retentionrun"]),
    ]
