from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("curation", "0006_promoted_sources"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="alarm",
            name="curation_alarm_kind",
        ),
        migrations.AlterField(
            model_name="alarm",
            name="kind",
            field=models.CharField(
                choices=[
                    ("retrieval_share", "Retrieval Share"),
                    ("outcome_after_recall", "Outcome After Recall"),
                    ("origin_flagged", "Origin Flagged"),
                    ("origin_withdrawn", "Origin Withdrawn"),
                ],
                max_length=32,
            ),
        ),
        migrations.AddConstraint(
            model_name="alarm",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "kind__in",
                        [
                            "retrieval_share",
                            "outcome_after_recall",
                            "origin_flagged",
                            "origin_withdrawn",
                        ],
                    ),
                    ("kind__isnull", False),
                ),
                name="curation_alarm_kind",
            ),
        ),
    ]
