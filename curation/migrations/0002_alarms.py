from __future__ import annotations

import django.db.models.deletion
import django.db.models.functions.datetime
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

import memoryadmin.lib.clock
import memoryadmin.lib.ids


class Migration(migrations.Migration):
    dependencies = [("curation", "0001_poison"), ("episodes", "0006_lineage")]
    operations = [
        migrations.CreateModel(
            name="Alarm",
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
                ("user_id", models.CharField(max_length=256, null=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("retrieval_share", "Retrieval Share"),
                            ("outcome_after_recall", "Outcome After Recall"),
                        ],
                        max_length=32,
                    ),
                ),
                ("figures", models.JSONField(default=dict)),
                (
                    "raised_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        default=memoryadmin.lib.clock.now,
                    ),
                ),
                ("closed_at", models.DateTimeField(null=True)),
                ("closed_by", models.CharField(blank=True, default="", max_length=200)),
                (
                    "ending",
                    models.CharField(
                        choices=[("dismissed", "Dismissed"), ("flagged", "Flagged")],
                        max_length=16,
                        null=True,
                    ),
                ),
                ("reason", models.TextField(blank=True, default="")),
                (
                    "app",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="episodes.app",
                    ),
                ),
                (
                    "episode",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="episodes.episode",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["app", "episode", "raised_at"], name="alarm_of_episode"),
                    models.Index(
                        condition=models.Q(("closed_at__isnull", True)),
                        fields=["app", "episode"],
                        name="alarm_open",
                    ),
                    models.Index(
                        condition=models.Q(("user_id__isnull", False)),
                        fields=["app", "user_id"],
                        name="alarm_of_user",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("closed_at__isnull", True)),
                        fields=("app", "episode", "kind"),
                        name="curation_alarm_one_open_per_kind",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("closed_at__isnull", True), ("ending__isnull", True)),
                            models.Q(("closed_at__isnull", False), ("ending__isnull", False)),
                            _connector="OR",
                        ),
                        name="curation_alarm_closed_has_an_ending",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("closed_at__isnull", True),
                            ("closed_at__gte", models.F("raised_at")),
                            _connector="OR",
                        ),
                        name="curation_alarm_ends_after_it_begins",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("kind__in", ["retrieval_share", "outcome_after_recall"]),
                            ("kind__isnull", False),
                        ),
                        name="curation_alarm_kind",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("ending__in", ["dismissed", "flagged"]), ("ending__isnull", False)
                            ),
                            ("ending__isnull", True),
                            _connector="OR",
                        ),
                        name="curation_alarm_ending",
                    ),
                ],
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="alarm",
            trigger=pgtrigger.compiler.Trigger(
                name="closed_once",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n                \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n                IF TG_OP = 'UPDATE' AND OLD.closed_at IS NULL AND NEW.closed_at IS NOT NULL\n                   AND to_jsonb(NEW) - ARRAY['closed_at', 'closed_by', 'ending', 'reason'] = to_jsonb(OLD) - ARRAY['closed_at', 'closed_by', 'ending', 'reason'] THEN\n                    RETURN NEW;\n                END IF;\n                RAISE EXCEPTION '% of % is refused: a row is closed once and otherwise never changed',\n                    TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';\n            ",
                    hash="435a1d9d12b88226cc6d2ec623cd74e8931af2be",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_closed_once_f9adc",
                    table="curation_alarm",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="alarm",
            trigger=pgtrigger.compiler.Trigger(
                name="belongs_to_its_head",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n            IF NOT EXISTS (\n                SELECT FROM episodes_episode head\n                WHERE head.id = NEW.episode_id AND head.app_id = NEW.app_id\n                    AND head.user_id IS NOT DISTINCT FROM NEW.user_id \n            ) THEN\n                RAISE EXCEPTION 'a row of % does not belong to its episode', TG_TABLE_NAME\n                    USING ERRCODE = 'restrict_violation';\n            END IF;\n            RETURN NEW;\n        ",
                    hash="603b44f4992e2bd39dbf3e2867101eb173d7ffc6",
                    operation="INSERT",
                    pgid="pgtrigger_belongs_to_its_head_23b6c",
                    table="curation_alarm",
                    when="BEFORE",
                ),
            ),
        ),
        # The app is in every key, and an alarm belongs to an episode of its own app.
        migrations.RunSQL(
            sql="""
                ALTER TABLE curation_alarm DROP CONSTRAINT curation_alarm_pkey;
                ALTER TABLE curation_alarm
                    ADD CONSTRAINT curation_alarm_pkey PRIMARY KEY (id, app_id);
                ALTER TABLE curation_alarm ADD CONSTRAINT curation_alarm_episode_of_app
                    FOREIGN KEY (episode_id, app_id) REFERENCES episodes_episode (id, app_id);
            """,
            reverse_sql="""
                ALTER TABLE curation_alarm DROP CONSTRAINT curation_alarm_episode_of_app;
                ALTER TABLE curation_alarm DROP CONSTRAINT curation_alarm_pkey;
                ALTER TABLE curation_alarm ADD CONSTRAINT curation_alarm_pkey PRIMARY KEY (id);
            """,
        ),
    ]
