import django.db.models.deletion
import django.db.models.functions.datetime
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

import memoryadmin.lib.clock
import memoryadmin.lib.ids


def widen(table):
    """The app is in every key (episodes migration 0003)."""
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
    dependencies = [("episodes", "0004_storage")]
    operations = [
        migrations.CreateModel(
            name="Flag",
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
                ("episode_id", models.UUIDField()),
                ("user_id", models.CharField(max_length=256, null=True)),
                ("revision", models.PositiveIntegerField()),
                (
                    "reason",
                    models.CharField(
                        choices=[
                            ("mislabelled", "Mislabelled"),
                            ("broken_procedure", "Broken Procedure"),
                            ("injection", "Injection"),
                            ("stale_procedure", "Stale Procedure"),
                            ("personal_data", "Personal Data"),
                            ("other", "Other"),
                        ],
                        max_length=24,
                    ),
                ),
                ("note", models.TextField()),
                (
                    "found_in",
                    models.CharField(
                        choices=[
                            ("episode", "Episode"),
                            ("recall", "Recall"),
                            ("incident", "Incident"),
                            ("alarm", "Alarm"),
                        ],
                        default="episode",
                        max_length=16,
                    ),
                ),
                ("found_id", models.UUIDField(null=True)),
                (
                    "flagged_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        default=memoryadmin.lib.clock.now,
                    ),
                ),
                ("flagged_by", models.CharField(max_length=200)),
                ("lifted_at", models.DateTimeField(null=True)),
                ("lifted_by", models.CharField(blank=True, default="", max_length=200)),
                ("lift_reason", models.TextField(blank=True, default="")),
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
        ),
        migrations.CreateModel(
            name="Containment",
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
                    "extent",
                    models.CharField(
                        choices=[("all", "All"), ("depth", "Depth"), ("part", "Part")], max_length=8
                    ),
                ),
                ("depth", models.PositiveSmallIntegerField(null=True)),
                ("n_reached", models.PositiveIntegerField()),
                ("n_blocked", models.PositiveIntegerField()),
                ("seen", models.CharField(max_length=64)),
                ("reason", models.TextField()),
                (
                    "blocked_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        default=memoryadmin.lib.clock.now,
                    ),
                ),
                ("blocked_by", models.CharField(max_length=200)),
                ("lifted_at", models.DateTimeField(null=True)),
                ("lifted_by", models.CharField(blank=True, default="", max_length=200)),
                ("lift_reason", models.TextField(blank=True, default="")),
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
                    "flag",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="containments",
                        to="curation.flag",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="flag",
            index=models.Index(fields=["app", "episode_id", "flagged_at"], name="flag_of_episode"),
        ),
        migrations.AddIndex(
            model_name="flag",
            index=models.Index(
                models.F("app"),
                models.OrderBy(models.F("flagged_at"), descending=True),
                models.OrderBy(models.F("id"), descending=True),
                name="flag_newest_of_app",
            ),
        ),
        migrations.AddIndex(
            model_name="flag",
            index=models.Index(
                condition=models.Q(("user_id__isnull", False)),
                fields=["app", "user_id"],
                name="flag_of_user",
            ),
        ),
        migrations.AddConstraint(
            model_name="flag",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "reason__in",
                        [
                            "mislabelled",
                            "broken_procedure",
                            "injection",
                            "stale_procedure",
                            "personal_data",
                            "other",
                        ],
                    ),
                    ("reason__isnull", False),
                ),
                name="curation_flag_reason",
            ),
        ),
        migrations.AddConstraint(
            model_name="flag",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("found_in__in", ["episode", "recall", "incident", "alarm"]),
                    ("found_in__isnull", False),
                ),
                name="curation_flag_found_in",
            ),
        ),
        migrations.AddConstraint(
            model_name="flag",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("found_id__isnull", True), ("found_in", "episode")),
                    models.Q(
                        models.Q(("found_in", "episode"), _negated=True),
                        ("found_id__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="curation_flag_says_where_it_was_found",
            ),
        ),
        migrations.AddConstraint(
            model_name="flag",
            constraint=models.CheckConstraint(
                condition=models.Q(("note", ""), _negated=True), name="curation_flag_has_evidence"
            ),
        ),
        migrations.AddConstraint(
            model_name="flag",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("lift_reason", ""), ("lifted_at__isnull", True), ("lifted_by", "")),
                    models.Q(
                        ("lifted_at__gte", models.F("flagged_at")),
                        ("lifted_at__isnull", False),
                        models.Q(("lifted_by", ""), _negated=True),
                        models.Q(("lift_reason", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="curation_flag_is_lifted_with_a_reason",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="flag",
            trigger=pgtrigger.compiler.Trigger(
                name="closed_once",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n                \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n                IF TG_OP = 'UPDATE' AND OLD.lifted_at IS NULL AND NEW.lifted_at IS NOT NULL\n                   AND to_jsonb(NEW) - ARRAY['lifted_at', 'lifted_by', 'lift_reason'] = to_jsonb(OLD) - ARRAY['lifted_at', 'lifted_by', 'lift_reason'] THEN\n                    RETURN NEW;\n                END IF;\n                RAISE EXCEPTION '% of % is refused: a row is closed once and otherwise never changed',\n                    TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';\n            ",
                    hash="b079f01bf11c48f434ae8d737fabe3e88202c62f",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_closed_once_e2bd1",
                    table="curation_flag",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="flag",
            trigger=pgtrigger.compiler.Trigger(
                name="belongs_to_its_head",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n            IF NOT EXISTS (\n                SELECT FROM episodes_episode head\n                WHERE head.id = NEW.episode_id AND head.app_id = NEW.app_id\n                    AND head.user_id IS NOT DISTINCT FROM NEW.user_id \n            ) THEN\n                RAISE EXCEPTION 'a row of % does not belong to its episode', TG_TABLE_NAME\n                    USING ERRCODE = 'restrict_violation';\n            END IF;\n            RETURN NEW;\n        ",
                    hash="73c3a828a2e5db7483ea6a3820d181e7a5ec84cd",
                    operation="INSERT",
                    pgid="pgtrigger_belongs_to_its_head_41f6c",
                    table="curation_flag",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddIndex(
            model_name="containment",
            index=models.Index(fields=["app", "flag", "blocked_at"], name="containment_of_flag"),
        ),
        migrations.AddIndex(
            model_name="containment",
            index=models.Index(
                condition=models.Q(("user_id__isnull", False)),
                fields=["app", "user_id"],
                name="containment_of_user",
            ),
        ),
        migrations.AddConstraint(
            model_name="containment",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("extent__in", ["all", "depth", "part"]), ("extent__isnull", False)
                ),
                name="curation_containment_extent",
            ),
        ),
        migrations.AddConstraint(
            model_name="containment",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("depth__gte", 1), ("depth__isnull", False), ("extent", "depth")),
                    models.Q(models.Q(("extent", "depth"), _negated=True), ("depth__isnull", True)),
                    _connector="OR",
                ),
                name="curation_containment_depth_fits_extent",
            ),
        ),
        migrations.AddConstraint(
            model_name="containment",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("n_blocked__gte", 1), ("n_blocked__lte", models.F("n_reached"))
                ),
                name="curation_containment_blocks_something",
            ),
        ),
        migrations.AddConstraint(
            model_name="containment",
            constraint=models.CheckConstraint(
                condition=models.Q(("reason", ""), _negated=True),
                name="curation_containment_has_a_reason",
            ),
        ),
        migrations.AddConstraint(
            model_name="containment",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("lift_reason", ""), ("lifted_at__isnull", True), ("lifted_by", "")),
                    models.Q(
                        ("lifted_at__gte", models.F("blocked_at")),
                        ("lifted_at__isnull", False),
                        models.Q(("lifted_by", ""), _negated=True),
                        models.Q(("lift_reason", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="curation_containment_is_lifted_with_a_reason",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="containment",
            trigger=pgtrigger.compiler.Trigger(
                name="closed_once",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n                \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n                IF TG_OP = 'UPDATE' AND OLD.lifted_at IS NULL AND NEW.lifted_at IS NOT NULL\n                   AND to_jsonb(NEW) - ARRAY['lifted_at', 'lifted_by', 'lift_reason'] = to_jsonb(OLD) - ARRAY['lifted_at', 'lifted_by', 'lift_reason'] THEN\n                    RETURN NEW;\n                END IF;\n                RAISE EXCEPTION '% of % is refused: a row is closed once and otherwise never changed',\n                    TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';\n            ",
                    hash="65efbc058f5c8ff036fecb364c93eb3711251234",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_closed_once_7844a",
                    table="curation_containment",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="containment",
            trigger=pgtrigger.compiler.Trigger(
                name="belongs_to_its_flag",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n    IF NOT EXISTS (\n        SELECT FROM curation_flag flag\n        WHERE flag.id = NEW.flag_id AND flag.app_id = NEW.app_id\n            AND flag.user_id IS NOT DISTINCT FROM NEW.user_id\n    ) THEN\n        RAISE EXCEPTION 'a row of % does not belong to its flag', TG_TABLE_NAME\n            USING ERRCODE = 'restrict_violation';\n    END IF;\n    RETURN NEW;\n",
                    hash="5999cf323a9202dbdb6ce429d1e85918563c06e6",
                    operation="INSERT",
                    pgid="pgtrigger_belongs_to_its_flag_6194b",
                    table="curation_containment",
                    when="BEFORE",
                ),
            ),
        ),
        widen("curation_flag"),
        widen("curation_containment"),
        migrations.RunSQL(
            sql="""
                ALTER TABLE curation_containment ADD CONSTRAINT curation_containment_flag_of_app
                FOREIGN KEY (flag_id, app_id) REFERENCES curation_flag (id, app_id);
            """,
            reverse_sql="""
                ALTER TABLE curation_containment DROP CONSTRAINT curation_containment_flag_of_app;
            """,
        ),
    ]
