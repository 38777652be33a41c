import django.db.models.deletion
import django.db.models.functions.datetime
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

import memoryadmin.lib.clock
import memoryadmin.lib.ids

# Like every table with subject data: the app is in each key, and a child belongs to an incident of
# its own app (episodes/migrations/0003).
KEYED_BY_ID = [
    "curation_incident",
    "curation_incidentevent",
    "curation_incidentlink",
    "curation_incidentnotice",
    "curation_incidentperson",
]
CHILDREN = KEYED_BY_ID[1:]


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


def refer(table):
    return migrations.RunSQL(
        sql=f"""
            ALTER TABLE {table} ADD CONSTRAINT {table}_incident_of_app
            FOREIGN KEY (incident_id, app_id) REFERENCES curation_incident (id, app_id);
        """,
        reverse_sql=f"ALTER TABLE {table} DROP CONSTRAINT {table}_incident_of_app;",
    )


class Migration(migrations.Migration):
    dependencies = [("curation", "0002_alarms"), ("episodes", "0004_storage")]

    operations = [
        migrations.CreateModel(
            name="Incident",
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
                ("title", models.CharField(max_length=200)),
                ("description", models.TextField(blank=True, default="")),
                (
                    "severity",
                    models.CharField(
                        choices=[("low", "Low"), ("medium", "Medium"), ("high", "High")],
                        default="medium",
                        max_length=16,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("contained", "Contained"),
                            ("closed", "Closed"),
                        ],
                        default="open",
                        max_length=16,
                    ),
                ),
                (
                    "source_kind",
                    models.CharField(
                        choices=[
                            ("session", "Session"),
                            ("recall", "Recall"),
                            ("episode", "Episode"),
                            ("description", "Description"),
                        ],
                        max_length=16,
                    ),
                ),
                ("source_id", models.CharField(blank=True, default="", max_length=256)),
                ("version", models.PositiveIntegerField(default=0)),
                (
                    "opened_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        default=memoryadmin.lib.clock.now,
                    ),
                ),
                ("opened_by", models.CharField(default="", max_length=200)),
                ("closed_at", models.DateTimeField(null=True)),
                ("closed_by", models.CharField(blank=True, default="", max_length=200)),
                ("closed_reason", models.TextField(blank=True, default="")),
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
            name="IncidentEvent",
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
                            ("opened", "Opened"),
                            ("note", "Note"),
                            ("state", "State"),
                            ("assigned", "Assigned"),
                            ("unassigned", "Unassigned"),
                            ("linked", "Linked"),
                            ("unlinked", "Unlinked"),
                            ("exported", "Exported"),
                            ("told", "Told"),
                        ],
                        max_length=16,
                    ),
                ),
                ("text", models.TextField(blank=True, default="")),
                ("detail", models.JSONField(default=dict)),
                (
                    "at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        default=memoryadmin.lib.clock.now,
                    ),
                ),
                ("by", models.CharField(default="", max_length=200)),
                ("role", models.CharField(blank=True, default="", max_length=16)),
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
                    "incident",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="curation.incident",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="IncidentHook",
            fields=[
                (
                    "app",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="episodes.app",
                    ),
                ),
                ("url", models.CharField(max_length=500)),
                (
                    "changed_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        default=memoryadmin.lib.clock.now,
                    ),
                ),
                ("changed_by", models.CharField(default="", max_length=200)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("url__startswith", "https://"),
                            ("url__startswith", "http://"),
                            _connector="OR",
                        ),
                        name="curation_incidenthook_is_http",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="IncidentLink",
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
                            ("session", "Session"),
                            ("recall", "Recall"),
                            ("episode", "Episode"),
                            ("flag", "Flag"),
                            ("containment", "Containment"),
                            ("block", "Block"),
                        ],
                        max_length=16,
                    ),
                ),
                ("target_id", models.CharField(max_length=256)),
                (
                    "added_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        default=memoryadmin.lib.clock.now,
                    ),
                ),
                ("added_by", models.CharField(default="", max_length=200)),
                ("removed_at", models.DateTimeField(null=True)),
                ("removed_by", models.CharField(blank=True, default="", max_length=200)),
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
                    "incident",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="links",
                        to="curation.incident",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="IncidentNotice",
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
                    "requested_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        default=memoryadmin.lib.clock.now,
                    ),
                ),
                ("requested_by", models.CharField(default="", max_length=200)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                (
                    "next_attempt_at",
                    models.DateTimeField(default=memoryadmin.lib.clock.now, null=True),
                ),
                ("delivered_at", models.DateTimeField(null=True)),
                ("n_sessions", models.PositiveIntegerField(null=True)),
                ("sha256", models.CharField(blank=True, default="", max_length=64)),
                ("last_error", models.CharField(blank=True, default="", max_length=64)),
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
                    "incident",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="notices",
                        to="curation.incident",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="IncidentPerson",
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
                ("name", models.CharField(max_length=200)),
                (
                    "added_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        default=memoryadmin.lib.clock.now,
                    ),
                ),
                ("added_by", models.CharField(default="", max_length=200)),
                ("removed_at", models.DateTimeField(null=True)),
                ("removed_by", models.CharField(blank=True, default="", max_length=200)),
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
                    "incident",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="people",
                        to="curation.incident",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="incident",
            index=models.Index(
                models.F("app"),
                models.OrderBy(models.F("opened_at"), descending=True),
                models.OrderBy(models.F("id"), descending=True),
                name="incident_newest_of_app",
            ),
        ),
        migrations.AddIndex(
            model_name="incident",
            index=models.Index(
                condition=models.Q(("user_id__isnull", False)),
                fields=["app", "user_id"],
                name="incident_of_user",
            ),
        ),
        migrations.AddConstraint(
            model_name="incident",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("state__in", ["open", "contained", "closed"]), ("state__isnull", False)
                ),
                name="curation_incident_state",
            ),
        ),
        migrations.AddConstraint(
            model_name="incident",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("severity__in", ["low", "medium", "high"]), ("severity__isnull", False)
                ),
                name="curation_incident_severity",
            ),
        ),
        migrations.AddConstraint(
            model_name="incident",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("source_kind__in", ["session", "recall", "episode", "description"]),
                    ("source_kind__isnull", False),
                ),
                name="curation_incident_source_kind",
            ),
        ),
        migrations.AddConstraint(
            model_name="incident",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("source_id", ""), ("source_kind", "description")),
                    models.Q(
                        models.Q(("source_kind", "description"), _negated=True),
                        models.Q(("source_id", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="curation_incident_names_its_source",
            ),
        ),
        migrations.AddConstraint(
            model_name="incident",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("source_kind__in", ["session", "recall"]), _negated=True),
                    ("user_id__isnull", False),
                    _connector="OR",
                ),
                name="curation_incident_session_has_a_subject",
            ),
        ),
        migrations.AddConstraint(
            model_name="incident",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("closed_at__isnull", False), ("state", "closed")),
                    models.Q(
                        models.Q(("state", "closed"), _negated=True), ("closed_at__isnull", True)
                    ),
                    _connector="OR",
                ),
                name="curation_incident_closed_has_a_time",
            ),
        ),
        migrations.AddIndex(
            model_name="incidentevent",
            index=models.Index(
                fields=["app", "incident", "at", "id"], name="incidentevent_of_incident"
            ),
        ),
        migrations.AddIndex(
            model_name="incidentevent",
            index=models.Index(
                condition=models.Q(("user_id__isnull", False)),
                fields=["app", "user_id"],
                name="incidentevent_of_user",
            ),
        ),
        migrations.AddConstraint(
            model_name="incidentevent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "kind__in",
                        [
                            "opened",
                            "note",
                            "state",
                            "assigned",
                            "unassigned",
                            "linked",
                            "unlinked",
                            "exported",
                            "told",
                        ],
                    ),
                    ("kind__isnull", False),
                ),
                name="curation_incidentevent_kind",
            ),
        ),
        migrations.AddConstraint(
            model_name="incidentevent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("kind", "note"), _negated=True),
                    models.Q(("text", ""), _negated=True),
                    _connector="OR",
                ),
                name="curation_incidentevent_note_says_something",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="incidentevent",
            trigger=pgtrigger.compiler.Trigger(
                name="append_only",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n            \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n            RAISE EXCEPTION '% of % is refused: the table is append-only', TG_OP, TG_TABLE_NAME\n                USING ERRCODE = 'restrict_violation';\n        ",
                    hash="7b637b3508d71ece22941c30ad5320944a3b8c6a",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_append_only_cf2f4",
                    table="curation_incidentevent",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddIndex(
            model_name="incidentlink",
            index=models.Index(
                condition=models.Q(("removed_at__isnull", True)),
                fields=["app", "kind", "target_id"],
                name="incidentlink_of_target",
            ),
        ),
        migrations.AddIndex(
            model_name="incidentlink",
            index=models.Index(
                condition=models.Q(("user_id__isnull", False)),
                fields=["app", "user_id"],
                name="incidentlink_of_user",
            ),
        ),
        migrations.AddConstraint(
            model_name="incidentlink",
            constraint=models.UniqueConstraint(
                condition=models.Q(("removed_at__isnull", True)),
                fields=("app", "incident", "kind", "target_id", "user_id"),
                name="curation_incidentlink_once",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="incidentlink",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("kind__in", ["session", "recall", "episode", "flag", "containment", "block"]),
                    ("kind__isnull", False),
                ),
                name="curation_incidentlink_kind",
            ),
        ),
        migrations.AddConstraint(
            model_name="incidentlink",
            constraint=models.CheckConstraint(
                condition=models.Q(("target_id", ""), _negated=True),
                name="curation_incidentlink_names_something",
            ),
        ),
        migrations.AddConstraint(
            model_name="incidentlink",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("removed_at__isnull", True),
                    ("removed_at__gte", models.F("added_at")),
                    _connector="OR",
                ),
                name="curation_incidentlink_ends_after_it_begins",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="incidentlink",
            trigger=pgtrigger.compiler.Trigger(
                name="closed_once",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n                \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n                IF TG_OP = 'UPDATE' AND OLD.removed_at IS NULL AND NEW.removed_at IS NOT NULL\n                   AND to_jsonb(NEW) - ARRAY['removed_at', 'removed_by'] = to_jsonb(OLD) - ARRAY['removed_at', 'removed_by'] THEN\n                    RETURN NEW;\n                END IF;\n                RAISE EXCEPTION '% of % is refused: a row is closed once and otherwise never changed',\n                    TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';\n            ",
                    hash="7651265788a3eb914c67ff615978327f78b036fa",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_closed_once_a04dc",
                    table="curation_incidentlink",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddIndex(
            model_name="incidentnotice",
            index=models.Index(
                condition=models.Q(("next_attempt_at__isnull", False)),
                fields=["next_attempt_at"],
                name="incidentnotice_due",
            ),
        ),
        migrations.AddIndex(
            model_name="incidentnotice",
            index=models.Index(
                fields=["app", "incident", "requested_at"], name="incidentnotice_of_incident"
            ),
        ),
        migrations.AddConstraint(
            model_name="incidentnotice",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("delivered_at__isnull", True),
                    ("next_attempt_at__isnull", True),
                    _connector="OR",
                ),
                name="curation_incidentnotice_delivered_is_done",
            ),
        ),
        migrations.AddConstraint(
            model_name="incidentperson",
            constraint=models.UniqueConstraint(
                condition=models.Q(("removed_at__isnull", True)),
                fields=("app", "incident", "name"),
                name="curation_incidentperson_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="incidentperson",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("removed_at__isnull", True),
                    ("removed_at__gte", models.F("added_at")),
                    _connector="OR",
                ),
                name="curation_incidentperson_leaves_after_joining",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="incidentperson",
            trigger=pgtrigger.compiler.Trigger(
                name="closed_once",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n                \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n                IF TG_OP = 'UPDATE' AND OLD.removed_at IS NULL AND NEW.removed_at IS NOT NULL\n                   AND to_jsonb(NEW) - ARRAY['removed_at', 'removed_by'] = to_jsonb(OLD) - ARRAY['removed_at', 'removed_by'] THEN\n                    RETURN NEW;\n                END IF;\n                RAISE EXCEPTION '% of % is refused: a row is closed once and otherwise never changed',\n                    TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';\n            ",
                    hash="5172eadca9d728891fac9a35573392c48a2cdf40",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_closed_once_78965",
                    table="curation_incidentperson",
                    when="BEFORE",
                ),
            ),
        ),
        *map(widen, KEYED_BY_ID),
        *map(refer, CHILDREN),
    ]
