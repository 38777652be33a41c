import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("curation", "0009_decided_once"),
        ("episodes", "0023_asked_indexes"),
    ]

    operations = [
        migrations.AlterField(
            model_name="precedent",
            name="app",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="episodes.app",
            ),
        ),
    ]
