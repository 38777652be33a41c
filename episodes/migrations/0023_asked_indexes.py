import django.contrib.postgres.indexes
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("episodes", "0022_doors_and_servings"),
    ]

    operations = [
        migrations.AlterField(
            model_name="block",
            name="app",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="episodes.app",
            ),
        ),
        migrations.AlterField(
            model_name="episode",
            name="app",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="episodes",
                to="episodes.app",
            ),
        ),
        migrations.AlterField(
            model_name="episoderevision",
            name="app",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="episodes.app",
            ),
        ),
        migrations.AlterField(
            model_name="episodevector",
            name="app",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="episodes.app",
            ),
        ),
        migrations.AlterField(
            model_name="feedback",
            name="app",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="episodes.app",
            ),
        ),
        migrations.AlterField(
            model_name="outcomeentry",
            name="app",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="episodes.app",
            ),
        ),
        migrations.AlterField(
            model_name="pendingembedding",
            name="app",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="episodes.app",
            ),
        ),
        migrations.AlterField(
            model_name="toolset",
            name="app",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="toolsets",
                to="episodes.app",
            ),
        ),
        migrations.AddIndex(
            model_name="episode",
            index=models.Index(
                models.F("app"),
                models.F("task_id"),
                models.OrderBy(models.F("received_at"), descending=True),
                condition=models.Q(("task_id", ""), _negated=True),
                name="episode_of_task",
            ),
        ),
        migrations.AddIndex(
            model_name="episoderevision",
            index=django.contrib.postgres.indexes.GinIndex(
                fields=["tools", "errors"], name="revision_tools"
            ),
        ),
        migrations.AddIndex(
            model_name="toolset",
            index=models.Index(
                models.F("app"),
                models.OrderBy(models.F("declared_at"), descending=True),
                name="toolset_newest_of_app",
            ),
        ),
    ]
