from django.db import migrations

# Tables with subject data carry the app in every unique key, so that the database can be
# distributed or partitioned by app. The ORM knows `id` as the primary key; the database has
# (id, app_id), which answers look-ups by id all the same.
KEYED_BY_ID = [
    "episodes_episode",
    "episodes_outcomeentry",
    "episodes_block",
    "episodes_serving",
    "episodes_feedback",
    "episodes_toolset",
    "episodes_tombstone",
    "episodes_idempotencyrecord",
]

# A child row belongs to an episode *of its own app*: the foreign key says so.
CHILDREN = [
    "episodes_episoderevision",
    "episodes_outcomeentry",
    "episodes_block",
    "episodes_episodevector",
    "episodes_pendingembedding",
    "episodes_serving",
]


def widen(table):
    return migrations.RunSQL(
        sql=f"""
            ALTER TABLE {table} DROP CONSTRAINT {table}_pkey;
            ALTER TABLE {table} ADD CONSTRAINT {table}_pkey PRIMARY KEY (id, app_id);
        """,
        reverse_sql=f"""
            ALTER TABLE {table} DROP CONSTRAINT {table}_pkey;
            ALTER TABLE {table} ADD CONSTRAINT {table}_pkey PRIMARY KEY (id);
        """,
    )


def refer(table):
    return migrations.RunSQL(
        sql=f"""
            ALTER TABLE {table} ADD CONSTRAINT {table}_episode_of_app
            FOREIGN KEY (episode_id, app_id) REFERENCES episodes_episode (id, app_id);
        """,
        reverse_sql=f"ALTER TABLE {table} DROP CONSTRAINT {table}_episode_of_app;",
    )


class Migration(migrations.Migration):
    dependencies = [("episodes", "0002_model")]
    operations = [*map(widen, KEYED_BY_ID), *map(refer, CHILDREN)]
