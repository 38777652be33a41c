from django.db import migrations, models

# Hosts' clocks differ: what ended before it began never was served. The rows are closed once, so the
# trigger that holds them is passed over, as the tables' owner may.
MEND = """
SELECT set_config('pgtrigger.ignore', '{pgtrigger_closed_once_8c63f}', true);
UPDATE episodes_serving SET served_to = served_from WHERE served_to < served_from;
SELECT set_config('pgtrigger.ignore', '', true);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("episodes", "0021_revisions_that_exist"),
    ]

    operations = [
        migrations.RunSQL(MEND, migrations.RunSQL.noop),
        migrations.AlterField(
            model_name="episode",
            name="origin",
            field=models.CharField(
                choices=[("session", "Session"), ("promotion", "Promotion")],
                default="session",
                max_length=16,
            ),
        ),
        migrations.AddConstraint(
            model_name="episode",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("origin__in", ["session", "promotion"]), ("origin__isnull", False)
                ),
                name="episodes_episode_origin",
            ),
        ),
        migrations.AddConstraint(
            model_name="serving",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("served_to__isnull", True),
                    ("served_to__gte", models.F("served_from")),
                    _connector="OR",
                ),
                name="episodes_serving_ends_after_it_begins",
            ),
        ),
    ]
