from __future__ import annotations

from django.db import migrations

# The policies are made after every migrate, from the models (memoryadmin/lib/row_security.py). This is
# what they leave to be made by hand: under a policy PostgreSQL keeps `&&` and `@@` from their index,
# since neither is leakproof. Read as the owner, whom no policy binds, with what the policy says as a
# plain condition; no security barrier, or the indexes would be lost again.
SHARED_TEXT = """
CREATE VIEW episodes_sharedtext AS
SELECT app_id, episode_id, revision, user_id, tools, errors, identifiers, search
FROM episodes_episoderevision
WHERE user_id IS NULL AND app_id = current_setting('memoryadmin.app')::bigint;
REVOKE ALL ON episodes_sharedtext FROM PUBLIC;
GRANT SELECT ON episodes_sharedtext TO memoryadmin_app, memoryadmin_api, memoryadmin_erase
"""


class Migration(migrations.Migration):
    dependencies = [
        ("episodes", "0011_erasure_indexes"),
    ]

    operations = [migrations.RunSQL(SHARED_TEXT, "DROP VIEW episodes_sharedtext")]
