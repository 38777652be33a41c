from __future__ import annotations

from django.db import migrations, models

SOURCES = [
    ("resolution", "Resolution"),
    ("reviewer", "Reviewer"),
    ("tool", "Tool"),
    ("user_feedback", "User Feedback"),
    ("agent_claim", "Agent Claim"),
    ("model", "Model"),
]


class Migration(migrations.Migration):
    dependencies = [
        ("episodes", "0015_audit_page"),
    ]

    operations = [
        migrations.AddField(
            model_name="outcomeentry",
            name="attributed_to",
            field=models.CharField(
                blank=True, choices=SOURCES, db_default="", default="", max_length=16
            ),
        ),
        migrations.AddField(
            model_name="outcomeentry",
            name="said_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddConstraint(
            model_name="outcomeentry",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("attributed_to", ""),
                    models.Q(
                        ("attributed_to__in", [name for name, _ in SOURCES]),
                        ("source", "agent_claim"),
                    ),
                    _connector="OR",
                ),
                name="episodes_outcomeentry_only_a_claim_is_attributed",
            ),
        ),
    ]
