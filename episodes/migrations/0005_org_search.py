import django.contrib.postgres.indexes
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):
    """What search in the organisation's scope needs: whose wording a row carries, and the text
    side of shared episodes apart from that of subjects' own."""

    dependencies = [("episodes", "0004_storage")]

    operations = [
        pgtrigger.migrations.RemoveTrigger(
            model_name="episode",
            name="identity_is_fixed",
        ),
        migrations.AddField(
            model_name="episode",
            name="wording_hash",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddIndex(
            model_name="episode",
            index=models.Index(
                condition=models.Q(("wording_hash__isnull", False)),
                fields=["app", "wording_hash"],
                name="episode_of_wording",
            ),
        ),
        migrations.AddIndex(
            model_name="episoderevision",
            index=django.contrib.postgres.indexes.GinIndex(
                condition=models.Q(("user_id__isnull", True)),
                fields=["identifiers"],
                name="revision_org_identifiers",
            ),
        ),
        migrations.AddIndex(
            model_name="episoderevision",
            index=django.contrib.postgres.indexes.GinIndex(
                condition=models.Q(("user_id__isnull", True)),
                fields=["search"],
                name="revision_org_search",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="episode",
            trigger=pgtrigger.compiler.Trigger(
                name="identity_is_fixed",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n    IF (NEW.id, NEW.app_id, NEW.scope, NEW.user_id, NEW.session_id, NEW.episode_key,\n        NEW.wording_hash)\n       IS DISTINCT FROM\n       (OLD.id, OLD.app_id, OLD.scope, OLD.user_id, OLD.session_id, OLD.episode_key,\n        OLD.wording_hash)\n    THEN\n        RAISE EXCEPTION 'the identity of an episode never changes'\n            USING ERRCODE = 'restrict_violation';\n    END IF;\n    IF OLD.state = 'completed'\n       AND (NEW.state, NEW.completed_at) IS DISTINCT FROM (OLD.state, OLD.completed_at) THEN\n        RAISE EXCEPTION 'a completed episode is not reopened and keeps its completion time'\n            USING ERRCODE = 'restrict_violation';\n    END IF;\n    RETURN NEW;\n",
                    hash="d35db1e96114fcfa594a5a6fddcb9fd74fd0df2f",
                    operation="UPDATE",
                    pgid="pgtrigger_identity_is_fixed_45aa9",
                    table="episodes_episode",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddConstraint(
            model_name="episode",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("wording_hash__isnull", True), ("scope", "org"), _connector="OR"
                ),
                name="episodes_episode_wording_only_in_org",
            ),
        ),
    ]
