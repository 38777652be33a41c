from django.db import migrations


class Migration(migrations.Migration):
    """How two tables are stored: room for updates beside each head, request counts without log."""

    dependencies = [("episodes", "0003_app_in_every_key")]
    operations = [
        migrations.RunSQL(
            sql="""
                ALTER TABLE episodes_episode SET (fillfactor = 85);
                ALTER TABLE episodes_ratewindow SET UNLOGGED;
            """,
            reverse_sql="""
                ALTER TABLE episodes_ratewindow SET LOGGED;
                ALTER TABLE episodes_episode RESET (fillfactor);
            """,
        )
    ]
