from __future__ import annotations

from django.db import migrations, models

# Provenance on every table that is written from outside, the figures of a rule that holds an
# episode, and how deep an episode stands on recalled ones.


class Migration(migrations.Migration):
    dependencies = [("episodes", "0005_org_search")]
    operations = [
        migrations.AddField(
            model_name="block",
            name="figures",
            field=models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict),
        ),
        migrations.AddField(
            model_name="episode",
            name="generation_depth",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="feedback",
            name="address_hash",
            field=models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
        migrations.AddField(
            model_name="feedback",
            name="route",
            field=models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
        migrations.AddField(
            model_name="feedback",
            name="written_by",
            field=models.CharField(db_default="", default="", max_length=200),
        ),
        migrations.AddField(
            model_name="outcomeentry",
            name="address_hash",
            field=models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
        migrations.AddField(
            model_name="outcomeentry",
            name="route",
            field=models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
        migrations.AddField(
            model_name="recall",
            name="address_hash",
            field=models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
        migrations.AddField(
            model_name="recall",
            name="route",
            field=models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
        migrations.AddField(
            model_name="toolset",
            name="address_hash",
            field=models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
        migrations.AddField(
            model_name="toolset",
            name="key_prefix",
            field=models.CharField(blank=True, db_default="", default="", max_length=16),
        ),
        migrations.AddField(
            model_name="toolset",
            name="route",
            field=models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
    ]
