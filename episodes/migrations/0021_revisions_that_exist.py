import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("episodes", "0020_rows_that_stay"),
    ]

    operations = [
        pgtrigger.migrations.RemoveTrigger(
            model_name="block",
            name="belongs_to_its_head",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="episode",
            name="identity_is_fixed",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="outcomeentry",
            name="belongs_to_its_head",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="serving",
            name="belongs_to_its_head",
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="app",
            trigger=pgtrigger.compiler.Trigger(
                name="ranks_by_its_own_profile",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n                    IF NEW.profile_id IS NOT NULL AND NOT EXISTS (\n                        SELECT FROM episodes_rankingprofile p\n                        WHERE p.id = NEW.profile_id AND p.app_id = NEW.id)\n                    THEN\n                        RAISE EXCEPTION 'an app ranks by a profile of its own'\n                            USING ERRCODE = 'restrict_violation';\n                    END IF;\n                    RETURN NEW;\n                ",
                    hash="adbf89801b190e1d4819a9e3fd319c704aaa0870",
                    operation='INSERT OR UPDATE OF "profile_id"',
                    pgid="pgtrigger_ranks_by_its_own_profile_862b6",
                    table="episodes_app",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="block",
            trigger=pgtrigger.compiler.Trigger(
                name="belongs_to_its_head",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n            IF NOT EXISTS (\n                SELECT FROM episodes_episode head\n                WHERE head.id = NEW.episode_id AND head.app_id = NEW.app_id\n                    AND head.user_id IS NOT DISTINCT FROM NEW.user_id AND (NEW.revision IS NULL OR EXISTS (\n                    SELECT FROM episodes_episoderevision written\n                    WHERE written.app_id = NEW.app_id AND written.episode_id = NEW.episode_id\n                        AND written.revision = NEW.revision))\n            ) THEN\n                RAISE EXCEPTION 'a row of % does not belong to its episode', TG_TABLE_NAME\n                    USING ERRCODE = 'restrict_violation';\n            END IF;\n            RETURN NEW;\n        ",
                    hash="f1bb12918cfd264c0080c10172c1992179fdcb11",
                    operation="INSERT",
                    pgid="pgtrigger_belongs_to_its_head_99a0c",
                    table="episodes_block",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="episode",
            trigger=pgtrigger.compiler.Trigger(
                name="identity_is_fixed",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n    IF (NEW.id, NEW.app_id, NEW.scope, NEW.user_id, NEW.session_id, NEW.episode_key,\n        NEW.wording_hash, NEW.origin)\n       IS DISTINCT FROM\n       (OLD.id, OLD.app_id, OLD.scope, OLD.user_id, OLD.session_id, OLD.episode_key,\n        OLD.wording_hash, OLD.origin)\n    THEN\n        RAISE EXCEPTION 'the identity of an episode never changes'\n            USING ERRCODE = 'restrict_violation';\n    END IF;\n    IF OLD.state = 'completed'\n       AND (NEW.state, NEW.completed_at, NEW.completed_recorded_at) IS DISTINCT FROM\n           (OLD.state, OLD.completed_at, OLD.completed_recorded_at) THEN\n        RAISE EXCEPTION 'a completed episode is not reopened and keeps its completion time'\n            USING ERRCODE = 'restrict_violation';\n    END IF;\n    IF NEW.revision <> OLD.revision AND NOT EXISTS (\n           SELECT FROM episodes_episoderevision r\n           WHERE r.app_id = NEW.app_id AND r.episode_id = NEW.id AND r.revision = NEW.revision)\n       OR NEW.n_revisions <> OLD.n_revisions AND NOT EXISTS (\n           SELECT FROM episodes_episoderevision r\n           WHERE r.app_id = NEW.app_id AND r.episode_id = NEW.id AND r.revision = NEW.n_revisions)\n    THEN\n        RAISE EXCEPTION 'an episode has no such revision' USING ERRCODE = 'restrict_violation';\n    END IF;\n    RETURN NEW;\n",
                    hash="251ca5ce224989ad066863fdd9aa82f41d774dfe",
                    operation="UPDATE",
                    pgid="pgtrigger_identity_is_fixed_45aa9",
                    table="episodes_episode",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="episode",
            trigger=pgtrigger.compiler.Trigger(
                name="has_its_revisions",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition='WHEN (NEW."n_revisions" > 0)',
                    constraint="CONSTRAINT",
                    func="\n    IF EXISTS (\n        SELECT FROM episodes_episode h\n        WHERE h.id = NEW.id AND h.app_id = NEW.app_id AND (\n            SELECT count(*) FROM episodes_episoderevision r\n            WHERE r.app_id = h.app_id AND r.episode_id = h.id\n                AND r.revision IN (h.revision, h.n_revisions)\n        ) < CASE WHEN h.revision IN (0, h.n_revisions) THEN 1 ELSE 2 END)\n    THEN\n        RAISE EXCEPTION 'an episode has no such revision' USING ERRCODE = 'restrict_violation';\n    END IF;\n    RETURN NULL;\n",
                    hash="81aee182d6f3c5b8e99c5619896f6acefb8423db",
                    operation="INSERT",
                    pgid="pgtrigger_has_its_revisions_d2928",
                    table="episodes_episode",
                    timing="DEFERRABLE INITIALLY DEFERRED",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="outcomeentry",
            trigger=pgtrigger.compiler.Trigger(
                name="belongs_to_its_head",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n            IF NOT EXISTS (\n                SELECT FROM episodes_episode head\n                WHERE head.id = NEW.episode_id AND head.app_id = NEW.app_id\n                    AND head.user_id IS NOT DISTINCT FROM NEW.user_id AND EXISTS (\n                    SELECT FROM episodes_episoderevision written\n                    WHERE written.app_id = NEW.app_id AND written.episode_id = NEW.episode_id\n                        AND written.revision = NEW.revision) AND (NEW.retracts IS NULL OR EXISTS (\n                    SELECT FROM episodes_outcomeentry taken\n                    WHERE taken.id = NEW.retracts AND taken.app_id = NEW.app_id\n                        AND taken.episode_id = NEW.episode_id AND taken.retracts IS NULL))\n            ) THEN\n                RAISE EXCEPTION 'a row of % does not belong to its episode', TG_TABLE_NAME\n                    USING ERRCODE = 'restrict_violation';\n            END IF;\n            RETURN NEW;\n        ",
                    hash="47b81caa3a796c7d515f952fa5fc4c085831aa0c",
                    operation="INSERT",
                    pgid="pgtrigger_belongs_to_its_head_675e0",
                    table="episodes_outcomeentry",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="serving",
            trigger=pgtrigger.compiler.Trigger(
                name="belongs_to_its_head",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n            IF NOT EXISTS (\n                SELECT FROM episodes_episode head\n                WHERE head.id = NEW.episode_id AND head.app_id = NEW.app_id\n                    AND head.user_id IS NOT DISTINCT FROM NEW.user_id AND EXISTS (\n                    SELECT FROM episodes_episoderevision written\n                    WHERE written.app_id = NEW.app_id AND written.episode_id = NEW.episode_id\n                        AND written.revision = NEW.revision)\n            ) THEN\n                RAISE EXCEPTION 'a row of % does not belong to its episode', TG_TABLE_NAME\n                    USING ERRCODE = 'restrict_violation';\n            END IF;\n            RETURN NEW;\n        ",
                    hash="b5a923e41408d8931bc94ce84661ad900db44a75",
                    operation="INSERT",
                    pgid="pgtrigger_belongs_to_its_head_62225",
                    table="episodes_serving",
                    when="BEFORE",
                ),
            ),
        ),
    ]
