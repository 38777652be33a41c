from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("episodes", "0010_erasure"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="block",
            index=models.Index(fields=["app", "user_id"], name="block_of_user"),
        ),
        migrations.AddIndex(
            model_name="episoderevision",
            index=models.Index(fields=["app", "user_id"], name="revision_of_user"),
        ),
        migrations.AddIndex(
            model_name="outcomeentry",
            index=models.Index(fields=["app", "user_id"], name="outcomeentry_of_user"),
        ),
        migrations.AddIndex(
            model_name="pendingembedding",
            index=models.Index(fields=["app", "user_id"], name="pendingembedding_of_user"),
        ),
        migrations.AddIndex(
            model_name="serving",
            index=models.Index(fields=["app", "user_id"], name="serving_of_user"),
        ),
    ]
