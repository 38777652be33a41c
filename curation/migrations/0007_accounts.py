from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("curation", "0006_promoted_sources"),
    ]

    operations = []
