import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
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
    dependencies = [("curation", "0004_precedents")]
    operations = [
        migrations.CreateModel(
            name="Consolidation",
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
                            ("accepted", "Accepted"),
                            ("dismissed", "Dismissed"),
                            ("outgrown", "Outgrown"),
                        ],
                        default="proposed",
                        max_length=16,
                    ),
                ),
                ("procedure_key", models.CharField(max_length=64)),
                ("lesson", models.TextField()),
                ("n_sources", models.PositiveIntegerField()),
                ("n_subjects", models.PositiveIntegerField()),
                ("threshold", models.PositiveSmallIntegerField()),
                (
                    "proposed_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        default=memoryadmin.lib.clock.now,
                    ),
                ),
                ("decided_by", models.CharField(blank=True, default="", max_length=200)),
                ("decided_role", models.CharField(blank=True, default="", max_length=16)),
                ("decided_at", models.DateTimeField(null=True)),
                ("reason", models.TextField(blank=True, default="")),
                ("precedent_id", models.UUIDField(null=True)),
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
            name="ConsolidationSource",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "app_id",
                        "consolidation_id",
                        "episode_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("episode_id", models.UUIDField()),
                ("revision", models.PositiveIntegerField()),
                ("user_id", models.CharField(max_length=256)),
                ("is_lead", models.BooleanField(default=False)),
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
                    "consolidation",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sources",
                        to="curation.consolidation",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="consolidation",
            index=models.Index(
                models.F("app"),
                models.F("status"),
                models.OrderBy(models.F("proposed_at"), descending=True),
                models.OrderBy(models.F("id"), descending=True),
                name="consolidation_by_status",
            ),
        ),
        migrations.AddIndex(
            model_name="consolidation",
            index=models.Index(fields=["app", "procedure_key"], name="consolidation_of_procedure"),
        ),
        migrations.AddConstraint(
            model_name="consolidation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("status__in", ["proposed", "accepted", "dismissed", "outgrown"]),
                    ("status__isnull", False),
                ),
                name="curation_consolidation_status",
            ),
        ),
        migrations.AddConstraint(
            model_name="consolidation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("n_subjects__gte", models.F("threshold")), ("threshold__gte", 1)),
                    models.Q(("status", "proposed"), _negated=True),
                    _connector="OR",
                ),
                name="curation_consolidation_of_enough_subjects",
            ),
        ),
        migrations.AddConstraint(
            model_name="consolidation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("decided_at__isnull", True), ("status", "proposed")),
                    models.Q(
                        models.Q(("status", "proposed"), _negated=True),
                        ("decided_at__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="curation_consolidation_decided_has_a_time",
            ),
        ),
        migrations.AddConstraint(
            model_name="consolidation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("status", "dismissed"), _negated=True),
                    models.Q(("reason", ""), _negated=True),
                    _connector="OR",
                ),
                name="curation_consolidation_dismissed_with_a_reason",
            ),
        ),
        migrations.AddConstraint(
            model_name="consolidation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("precedent_id__isnull", False), ("status", "accepted")),
                    models.Q(
                        models.Q(("status", "accepted"), _negated=True),
                        ("precedent_id__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="curation_consolidation_accepted_became_a_proposal",
            ),
        ),
        migrations.AddIndex(
            model_name="consolidationsource",
            index=models.Index(fields=["app", "user_id"], name="consolidationsource_of_user"),
        ),
        migrations.AddConstraint(
            model_name="consolidationsource",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_lead", True)),
                fields=("app", "consolidation"),
                name="curation_consolidationsource_one_lead",
            ),
        ),
        widen("curation_consolidation"),
        refer("curation_consolidationsource", "consolidation", "curation_consolidation"),
    ]
