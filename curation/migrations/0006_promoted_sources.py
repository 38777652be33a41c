from __future__ import annotations

from django.db import migrations

# Episodes know from episodes 0009 on whether something published was made of them; what was
# published before is told here.


class Migration(migrations.Migration):
    dependencies = [("curation", "0005_consolidation"), ("episodes", "0009_retention")]
    operations = [
        migrations.RunSQL(
            sql="""
                UPDATE episodes_episode h SET promoted = true
                FROM curation_precedent p
                WHERE p.app_id = h.app_id AND p.source_episode_id = h.id AND p.status = 'approved';
            """,
            reverse_sql=migrations.RunSQL.noop,
        ),
    ]
