import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

import memoryadmin.lib.clock
import memoryadmin.lib.ids


def widen(table):
    """As in the episodes' 0003: the app is in every key."""
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


def refer(table, column, to):
    return migrations.RunSQL(
        sql=f"""
            ALTER TABLE {table} ADD CONSTRAINT {table}_{column}_of_app
            FOREIGN KEY ({column}_id, app_id) REFERENCES {to} (id, app_id);
        """,
        reverse_sql=f"ALTER TABLE {table} DROP CONSTRAINT {table}_{column}_of_app;",
    )


class Migration(migrations.Migration):
    dependencies = [("curation", "0003_incidents"), ("episodes", "0005_org_search")]
    operations = [
        migrations.CreateModel(
            name="Precedent",
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
                    "status",
                    models.CharField(
                        choices=[
                            ("proposed", "Proposed"),
                            ("offered", "Offered"),
                            ("approved", "Approved"),
                            ("refused", "Refused"),
                            ("withdrawn", "Withdrawn"),
                            ("superseded", "Superseded"),
                        ],
                        max_length=16,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1)),
                ("user_id", models.CharField(max_length=256, null=True)),
                ("source_episode_id", models.UUIDField(null=True)),
                ("source_revision", models.PositiveIntegerField(null=True)),
                ("offered_from", models.UUIDField(null=True)),
                ("supersedes", models.UUIDField(null=True)),
                ("consolidation_id", models.UUIDField(null=True)),
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
                    ),
                ),
                (
                    "outcome_source",
                    models.CharField(
                        choices=[
                            ("resolution", "Resolution"),
                            ("reviewer", "Reviewer"),
                            ("tool", "Tool"),
                            ("user_feedback", "User Feedback"),
                            ("agent_claim", "Agent Claim"),
                            ("model", "Model"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "recorded_outcome",
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
                    ),
                ),
                ("is_warning", models.BooleanField(default=False)),
                ("procedure_key", models.CharField(max_length=64)),
                ("completed_on", models.DateField()),
                ("goal", models.TextField()),
                ("steps", models.JSONField()),
                ("resolution", models.TextField(blank=True, default="")),
                ("lesson", models.TextField(blank=True, default="")),
                (
                    "lesson_source",
                    models.CharField(
                        choices=[
                            ("template", "Template"),
                            ("model", "Model"),
                            ("reviewer", "Reviewer"),
                            ("caller", "Caller"),
                        ],
                        max_length=16,
                    ),
                ),
                ("issue_type", models.CharField(blank=True, default="", max_length=128)),
                ("agent_id", models.CharField(blank=True, default="", max_length=256)),
                ("toolset_version", models.CharField(blank=True, default="", max_length=128)),
                (
                    "toolset_kind",
                    models.CharField(
                        choices=[("names", "Names"), ("schemas", "Schemas"), ("opaque", "Opaque")],
                        max_length=16,
                    ),
                ),
                ("redactions", models.JSONField(default=list)),
                ("dropped", models.JSONField(default=list)),
                ("edited", models.JSONField(default=list)),
                ("accepted", models.JSONField(default=list)),
                ("accepted_because", models.TextField(blank=True, default="")),
                ("n_subjects", models.PositiveIntegerField()),
                ("threshold", models.PositiveSmallIntegerField()),
                ("override_reason", models.TextField(blank=True, default="")),
                ("proposer", models.CharField(max_length=200)),
                ("proposer_role", models.CharField(blank=True, default="", max_length=16)),
                (
                    "proposed_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        default=memoryadmin.lib.clock.now,
                    ),
                ),
                (
                    "editors",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=200), default=list, size=None
                    ),
                ),
                ("approver", models.CharField(max_length=200, null=True)),
                ("approver_role", models.CharField(blank=True, default="", max_length=16)),
                ("approved_at", models.DateTimeField(null=True)),
                ("ended_by", models.CharField(blank=True, default="", max_length=200)),
                ("ended_at", models.DateTimeField(null=True)),
                ("end_reason", models.TextField(blank=True, default="")),
                ("org_episode_id", models.UUIDField(null=True)),
                ("is_to_rederive", models.BooleanField(default=False)),
                (
                    "app",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="episodes.app",
                    ),
                ),
                (
                    "offered_from_app",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="episodes.app",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Contribution",
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
                ("subject_hash", models.BinaryField(max_length=32)),
                ("key_id", models.CharField(max_length=16)),
                ("carries_wording", models.BooleanField(default=False)),
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
                    "subject_app",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="episodes.app",
                    ),
                ),
                (
                    "precedent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="contributions",
                        to="curation.precedent",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="precedent",
            index=models.Index(
                models.F("app"),
                models.F("status"),
                models.OrderBy(models.F("proposed_at"), descending=True),
                models.OrderBy(models.F("id"), descending=True),
                name="precedent_by_status",
            ),
        ),
        migrations.AddIndex(
            model_name="precedent",
            index=models.Index(
                condition=models.Q(("org_episode_id__isnull", False)),
                fields=["app", "org_episode_id"],
                name="precedent_of_org_episode",
            ),
        ),
        migrations.AddIndex(
            model_name="precedent",
            index=models.Index(
                condition=models.Q(("source_episode_id__isnull", False)),
                fields=["app", "source_episode_id"],
                name="precedent_of_source",
            ),
        ),
        migrations.AddIndex(
            model_name="precedent",
            index=models.Index(
                condition=models.Q(("user_id__isnull", False)),
                fields=["app", "user_id"],
                name="precedent_of_user",
            ),
        ),
        migrations.AddIndex(
            model_name="precedent",
            index=models.Index(
                condition=models.Q(("offered_from__isnull", False)),
                fields=["offered_from_app", "offered_from"],
                name="precedent_offered_further",
            ),
        ),
        migrations.AddConstraint(
            model_name="precedent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("approver__isnull", True),
                    models.Q(
                        models.Q(("approver", models.F("proposer")), _negated=True),
                        models.Q(("editors__contains", [models.F("approver")]), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="curation_precedent_approved_by_a_second_person",
            ),
        ),
        migrations.AddConstraint(
            model_name="precedent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("status__in", ["approved", "superseded"]),
                        ("approved_at__isnull", False),
                        ("approver__isnull", False),
                        ("org_episode_id__isnull", False),
                    ),
                    models.Q(
                        ("status__in", ["proposed", "offered", "refused"]),
                        ("approved_at__isnull", True),
                        ("approver__isnull", True),
                        ("org_episode_id__isnull", True),
                    ),
                    ("status", "withdrawn"),
                    _connector="OR",
                ),
                name="curation_precedent_published_is_approved",
            ),
        ),
        migrations.AddConstraint(
            model_name="precedent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("ended_at__isnull", False),
                        ("status__in", ("refused", "withdrawn", "superseded")),
                    ),
                    models.Q(
                        models.Q(
                            ("status__in", ("refused", "withdrawn", "superseded")), _negated=True
                        ),
                        ("ended_at__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="curation_precedent_ended_has_a_time",
            ),
        ),
        migrations.AddConstraint(
            model_name="precedent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("status", "approved"), _negated=True),
                    ("n_subjects__gte", models.F("threshold")),
                    models.Q(("override_reason", ""), _negated=True),
                    _connector="OR",
                ),
                name="curation_precedent_enough_subjects_or_a_reason",
            ),
        ),
        migrations.AddConstraint(
            model_name="precedent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("source_episode_id__isnull", True),
                        ("source_revision__isnull", True),
                        ("user_id__isnull", True),
                    ),
                    models.Q(
                        ("source_episode_id__isnull", False),
                        ("source_revision__isnull", False),
                        ("user_id__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="curation_precedent_source_is_whole",
            ),
        ),
        migrations.AddConstraint(
            model_name="precedent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("offered_from__isnull", True), ("offered_from_app__isnull", True)),
                    models.Q(
                        ("offered_from__isnull", False),
                        ("offered_from_app__isnull", False),
                        models.Q(("offered_from_app", models.F("app")), _negated=True),
                        ("user_id__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="curation_precedent_offered_by_another_app",
            ),
        ),
        migrations.AddConstraint(
            model_name="precedent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("status", "proposed"), _negated=True),
                    ("source_episode_id__isnull", False),
                    _connector="OR",
                ),
                name="curation_precedent_proposed_has_a_source",
            ),
        ),
        migrations.AddConstraint(
            model_name="precedent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("status", "offered"), _negated=True),
                    ("offered_from__isnull", False),
                    _connector="OR",
                ),
                name="curation_precedent_offered_has_an_origin",
            ),
        ),
        migrations.AddConstraint(
            model_name="precedent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("is_warning", False), ("outcome", "success")),
                    models.Q(("is_warning", True), ("outcome", "failure")),
                    _connector="OR",
                ),
                name="curation_precedent_success_or_warning",
            ),
        ),
        migrations.AddConstraint(
            model_name="precedent",
            constraint=models.CheckConstraint(
                condition=models.Q(("completed_on__iso_week_day", 1)),
                name="curation_precedent_completed_on_a_monday",
            ),
        ),
        migrations.AddConstraint(
            model_name="precedent",
            constraint=models.CheckConstraint(
                condition=models.Q(("threshold__gte", 1)), name="curation_precedent_threshold"
            ),
        ),
        migrations.AddConstraint(
            model_name="precedent",
            constraint=models.CheckConstraint(
                condition=models.Q(("outcome_source__in", ("resolution", "reviewer"))),
                name="curation_precedent_was_reviewed",
            ),
        ),
        migrations.AddConstraint(
            model_name="precedent",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status", "proposed")),
                fields=("app", "source_episode_id"),
                name="curation_precedent_one_proposal_per_source",
            ),
        ),
        migrations.AddConstraint(
            model_name="precedent",
            constraint=models.UniqueConstraint(
                condition=models.Q(("source_episode_id__isnull", False), ("status", "approved")),
                fields=("app", "source_episode_id"),
                name="curation_precedent_one_published_per_source",
            ),
        ),
        migrations.AddConstraint(
            model_name="precedent",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status__in", ["offered", "approved"])),
                fields=("app", "offered_from"),
                name="curation_precedent_offered_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="precedent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "status__in",
                        ["proposed", "offered", "approved", "refused", "withdrawn", "superseded"],
                    ),
                    ("status__isnull", False),
                ),
                name="curation_precedent_status",
            ),
        ),
        migrations.AddConstraint(
            model_name="precedent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "recorded_outcome__in",
                        ["success", "partial", "failure", "escalated", "abandoned", "unknown"],
                    ),
                    ("recorded_outcome__isnull", False),
                ),
                name="curation_precedent_recorded_outcome",
            ),
        ),
        migrations.AddConstraint(
            model_name="precedent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("lesson_source__in", ["template", "model", "reviewer", "caller"]),
                    ("lesson_source__isnull", False),
                ),
                name="curation_precedent_lesson_source",
            ),
        ),
        migrations.AddConstraint(
            model_name="precedent",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("toolset_kind__in", ["names", "schemas", "opaque"]),
                    ("toolset_kind__isnull", False),
                ),
                name="curation_precedent_toolset_kind",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="precedent",
            trigger=pgtrigger.compiler.Trigger(
                name="decided_once",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n    IF (NEW.id, NEW.app_id, NEW.proposer, NEW.offered_from, NEW.offered_from_app_id, NEW.supersedes)\n       IS DISTINCT FROM\n       (OLD.id, OLD.app_id, OLD.proposer, OLD.offered_from, OLD.offered_from_app_id, OLD.supersedes)\n    THEN\n        RAISE EXCEPTION 'where a precedent comes from never changes'\n            USING ERRCODE = 'restrict_violation';\n    END IF;\n    IF NEW.status <> OLD.status AND NOT (\n        OLD.status IN ('proposed', 'offered') AND NEW.status IN ('approved', 'refused', 'withdrawn')\n        OR OLD.status = 'approved' AND NEW.status IN ('withdrawn', 'superseded'))\n    THEN\n        RAISE EXCEPTION 'a precedent that is % does not become %', OLD.status, NEW.status\n            USING ERRCODE = 'restrict_violation';\n    END IF;\n    IF OLD.status NOT IN ('proposed', 'offered') AND NEW.goal <> ''\n       AND (NEW.goal, NEW.steps, NEW.resolution, NEW.lesson, NEW.approver)\n           IS DISTINCT FROM (OLD.goal, OLD.steps, OLD.resolution, OLD.lesson, OLD.approver)\n    THEN\n        RAISE EXCEPTION 'what was decided about is not changed afterwards'\n            USING ERRCODE = 'restrict_violation';\n    END IF;\n    RETURN NEW;\n",
                    hash="03019250f9de4a0dd4c242691822ef654cee6ddb",
                    operation="UPDATE",
                    pgid="pgtrigger_decided_once_18db1",
                    table="curation_precedent",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddIndex(
            model_name="contribution",
            index=models.Index(
                fields=["subject_app", "subject_hash"], name="contribution_of_subject"
            ),
        ),
        migrations.AddConstraint(
            model_name="contribution",
            constraint=models.UniqueConstraint(
                fields=("app", "precedent", "subject_app", "subject_hash"),
                name="curation_contribution_one_per_subject",
            ),
        ),
        migrations.AddConstraint(
            model_name="contribution",
            constraint=models.UniqueConstraint(
                condition=models.Q(("carries_wording", True)),
                fields=("app", "precedent"),
                name="curation_contribution_one_wording",
            ),
        ),
        widen("curation_precedent"),
        widen("curation_contribution"),
        refer("curation_contribution", "precedent", "curation_precedent"),
    ]
