from __future__ import annotations

import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):
    """A key's successor, what keys called by the day, and the indexes that find what a key wrote."""

    dependencies = [("episodes", "0013_accounts")]

    operations = [
        migrations.CreateModel(
            name="KeyUse",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "key_id",
                        "day",
                        "route",
                        "status",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "app",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="episodes.app",
                    ),
                ),
                (
                    "key",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="episodes.apikey",
                    ),
                ),
                ("day", models.DateField()),
                ("route", models.CharField(max_length=64)),
                ("status", models.PositiveSmallIntegerField()),
                ("n", models.PositiveIntegerField()),
            ],
        ),
        migrations.AddField(
            model_name="apikey",
            name="predecessor",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.RESTRICT,
                related_name="successors",
                to="episodes.apikey",
            ),
        ),
        migrations.AddField(
            model_name="ratewindow",
            name="refused",
            field=models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict),
        ),
        migrations.AddField(
            model_name="ratewindow",
            name="routes",
            field=models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict),
        ),
        migrations.AddIndex(
            model_name="episoderevision",
            index=models.Index(
                condition=models.Q(("key_prefix", ""), _negated=True),
                fields=["app", "key_prefix", "episode"],
                name="revision_of_key",
            ),
        ),
        migrations.AddIndex(
            model_name="feedback",
            index=models.Index(fields=["app", "key_prefix"], name="feedback_of_key"),
        ),
        migrations.AddIndex(
            model_name="outcomeentry",
            index=models.Index(
                models.F("app"),
                models.F("key_prefix"),
                models.OrderBy(models.F("at"), descending=True),
                condition=models.Q(("key_prefix", ""), _negated=True),
                name="outcomeentry_of_key",
            ),
        ),
        migrations.AddIndex(
            model_name="recall",
            index=models.Index(
                models.F("app"),
                models.F("key_prefix"),
                models.OrderBy(models.F("recalled_at"), descending=True),
                models.OrderBy(models.F("id"), descending=True),
                name="recall_of_key",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="apikey",
            trigger=pgtrigger.compiler.Trigger(
                name="succeeds_its_own_apps_key",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n    IF TG_OP = 'UPDATE' AND NEW.predecessor_id IS DISTINCT FROM OLD.predecessor_id THEN\n        RAISE EXCEPTION 'which key a key succeeds never changes'\n            USING ERRCODE = 'restrict_violation';\n    END IF;\n    IF TG_OP = 'INSERT' AND NEW.predecessor_id IS NOT NULL AND NOT EXISTS (\n        SELECT FROM episodes_apikey p\n        WHERE p.id = NEW.predecessor_id AND p.app_id = NEW.app_id AND p.expires_at IS NOT NULL\n    ) THEN\n        RAISE EXCEPTION 'a key succeeds a key of its app that has an end'\n            USING ERRCODE = 'restrict_violation';\n    END IF;\n    RETURN NEW;\n",
                    hash="3f3fd52a8e880eeed0f4d5e55e2254317ba96736",
                    operation='INSERT OR UPDATE OF "predecessor_id"',
                    pgid="pgtrigger_succeeds_its_own_apps_key_cf2b4",
                    table="episodes_apikey",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddConstraint(
            model_name="apikey",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("limit_per_minute__isnull", True),
                    ("limit_per_minute__gte", 1),
                    _connector="OR",
                ),
                name="episodes_apikey_limit",
            ),
        ),
        migrations.AddConstraint(
            model_name="apikey",
            constraint=models.UniqueConstraint(
                condition=models.Q(("predecessor__isnull", False)),
                fields=("predecessor",),
                name="episodes_apikey_one_successor",
            ),
        ),
        migrations.AddIndex(
            model_name="keyuse",
            index=models.Index(fields=["day"], name="keyuse_by_day"),
        ),
        migrations.AddConstraint(
            model_name="keyuse",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("status", 0),
                    models.Q(("status__gte", 400), ("status__lte", 599)),
                    _connector="OR",
                ),
                name="episodes_keyuse_status",
            ),
        ),
    ]
