from __future__ import annotations

import django.db.models.deletion
import django.db.models.functions.datetime
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

import memoryadmin.lib.clock
import memoryadmin.lib.ids


class Migration(migrations.Migration):
    dependencies = [("episodes", "0007_audit_chain")]
    operations = [
        migrations.CreateModel(
            name="Hold",
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
                ("hold_id", models.UUIDField()),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("subject", "Subject"),
                            ("session", "Session"),
                            ("episode", "Episode"),
                            ("recall", "Recall"),
                            ("incident", "Incident"),
                        ],
                        max_length=16,
                    ),
                ),
                ("user_id", models.CharField(max_length=256, null=True)),
                ("session_id", models.CharField(max_length=256, null=True)),
                ("episode_id", models.UUIDField(null=True)),
                ("recall_id", models.UUIDField(null=True)),
                ("incident_id", models.UUIDField(null=True)),
                ("reason", models.TextField(blank=True, default="")),
                (
                    "placed_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        default=memoryadmin.lib.clock.now,
                    ),
                ),
                ("placed_by", models.CharField(default="", max_length=200)),
                ("until", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("ended_by", models.CharField(blank=True, default="", max_length=200)),
                ("end_reason", models.TextField(blank=True, default="")),
                (
                    "app",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="episodes.app",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("ended_at__isnull", True), ("user_id__isnull", False)),
                        fields=["app", "user_id", "session_id"],
                        name="hold_standing_of_user",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("ended_at__isnull", True), ("episode_id__isnull", False)
                        ),
                        fields=["app", "episode_id"],
                        name="hold_standing_of_episode",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("ended_at__isnull", True), ("recall_id__isnull", False)
                        ),
                        fields=["app", "recall_id"],
                        name="hold_standing_of_recall",
                    ),
                    models.Index(
                        condition=models.Q(("incident_id__isnull", False)),
                        fields=["app", "incident_id"],
                        name="hold_of_incident",
                    ),
                    models.Index(fields=["app", "hold_id"], name="hold_of_hold"),
                    models.Index(
                        models.F("app"),
                        models.OrderBy(models.F("placed_at"), descending=True),
                        models.OrderBy(models.F("id"), descending=True),
                        condition=models.Q(("id", models.F("hold_id"))),
                        name="hold_newest_of_app",
                    ),
                    models.Index(
                        condition=models.Q(("user_id__isnull", False)),
                        fields=["app", "user_id"],
                        name="hold_of_user",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("kind__in", ["subject", "session", "episode", "recall", "incident"]),
                            ("kind__isnull", False),
                        ),
                        name="episodes_hold_kind",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("episode_id__isnull", True),
                                ("kind", "subject"),
                                ("recall_id__isnull", True),
                                ("session_id__isnull", True),
                                ("user_id__isnull", False),
                            ),
                            models.Q(
                                ("episode_id__isnull", True),
                                ("kind", "session"),
                                ("recall_id__isnull", True),
                                ("session_id__isnull", False),
                                ("user_id__isnull", False),
                            ),
                            models.Q(
                                ("episode_id__isnull", False),
                                ("kind", "episode"),
                                ("recall_id__isnull", True),
                                ("session_id__isnull", True),
                            ),
                            models.Q(
                                ("episode_id__isnull", True),
                                ("kind", "recall"),
                                ("recall_id__isnull", False),
                                ("session_id__isnull", True),
                                ("user_id__isnull", False),
                            ),
                            models.Q(
                                ("episode_id__isnull", True),
                                ("incident_id__isnull", False),
                                ("kind", "incident"),
                                ("recall_id__isnull", True),
                                ("session_id__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="episodes_hold_names_its_target",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("id", models.F("hold_id")), _negated=True),
                            models.Q(("reason", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="episodes_hold_has_a_reason",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("until__isnull", True),
                            ("until__gt", models.F("placed_at")),
                            _connector="OR",
                        ),
                        name="episodes_hold_ends_after_it_begins",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("ended_at__isnull", True),
                            ("ended_at__gte", models.F("placed_at")),
                            _connector="OR",
                        ),
                        name="episodes_hold_is_lifted_after_it_was_placed",
                    ),
                ],
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="hold",
            trigger=pgtrigger.compiler.Trigger(
                name="closed_once",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n                \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n                IF TG_OP = 'UPDATE' AND OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL\n                   AND to_jsonb(NEW) - ARRAY['ended_at', 'ended_by', 'end_reason'] = to_jsonb(OLD) - ARRAY['ended_at', 'ended_by', 'end_reason'] THEN\n                    RETURN NEW;\n                END IF;\n                RAISE EXCEPTION '% of % is refused: a row is closed once and otherwise never changed',\n                    TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';\n            ",
                    hash="5330427a6c381e2d83f9f6f93d72436d8fd0aa1d",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_closed_once_4f096",
                    table="episodes_hold",
                    when="BEFORE",
                ),
            ),
        ),
        # As migration 0003 does it: the app is in every unique key.
        migrations.RunSQL(
            sql="""
                ALTER TABLE episodes_hold DROP CONSTRAINT episodes_hold_pkey;
                ALTER TABLE episodes_hold ADD CONSTRAINT episodes_hold_pkey
                    PRIMARY KEY (id, app_id);
            """,
            reverse_sql="""
                ALTER TABLE episodes_hold DROP CONSTRAINT episodes_hold_pkey;
                ALTER TABLE episodes_hold ADD CONSTRAINT episodes_hold_pkey PRIMARY KEY (id);
            """,
        ),
    ]
