from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("episodes", "0015_audit_page"),
    ]

    operations = []
