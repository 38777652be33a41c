import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations

# Reads as the owner: an entry is seen whatever app the asking role is walled in.
HAS = """
CREATE FUNCTION memoryadmin_audit_has(at_lane smallint, at_number bigint, at_chain bytea)
RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM episodes_auditentry
        WHERE lane = at_lane AND number = at_number AND chain = at_chain)
$$
"""


class Migration(migrations.Migration):
    dependencies = [
        ("episodes", "0019_removed_texts"),
    ]

    operations = [
        migrations.RunSQL(HAS, "DROP FUNCTION memoryadmin_audit_has(smallint, bigint, bytea)"),
        pgtrigger.migrations.RemoveTrigger(
            model_name="episodevector",
            name="belongs_to_its_head",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="pendingembedding",
            name="belongs_to_its_head",
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="auditlane",
            trigger=pgtrigger.compiler.Trigger(
                name="ends_at_an_entry",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    constraint="CONSTRAINT",
                    func="\n                    IF NOT memoryadmin_audit_has(NEW.lane, NEW.number, NEW.chain) THEN\n                        RAISE EXCEPTION 'lane % of the audit has no entry %', NEW.lane, NEW.number\n                            USING ERRCODE = 'restrict_violation';\n                    END IF;\n                    RETURN NULL;\n                ",
                    hash="45e5010d0a30c5bded08f86847f73284fa7e1e5e",
                    operation="INSERT OR UPDATE",
                    pgid="pgtrigger_ends_at_an_entry_4036d",
                    table="episodes_auditlane",
                    timing="DEFERRABLE INITIALLY DEFERRED",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="auditverification",
            trigger=pgtrigger.compiler.Trigger(
                name="changes_only",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n                \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n                IF OLD.finished_at IS NULL THEN\n                    \n                    IF TG_OP = 'UPDATE'\n                       AND to_jsonb(NEW) - ARRAY['finished_at', 'lane', 'number', 'chain', 'entries', 'lanes', 'erased', 'cut', 'checkpoints', 'unchained', 'broken'] = to_jsonb(OLD) - ARRAY['finished_at', 'lane', 'number', 'chain', 'entries', 'lanes', 'erased', 'cut', 'checkpoints', 'unchained', 'broken'] THEN\n                        RETURN NEW;\n                    END IF;\n                END IF;\n                RAISE EXCEPTION '% of % is refused: this of a row is never changed',\n                    TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';\n            ",
                    hash="11ed7a624c8ccc145984085abc6becf579ccd730",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_changes_only_a39e1",
                    table="episodes_auditverification",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="departedname",
            trigger=pgtrigger.compiler.Trigger(
                name="append_only",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n            \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n            RAISE EXCEPTION '% of % is refused: the table is append-only', TG_OP, TG_TABLE_NAME\n                USING ERRCODE = 'restrict_violation';\n        ",
                    hash="c65b3ee3d9576393e41d28f4e46a0555aa8fd661",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_append_only_f99b7",
                    table="episodes_departedname",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="episodevector",
            trigger=pgtrigger.compiler.Trigger(
                name="belongs_to_its_head",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n            IF NOT EXISTS (\n                SELECT FROM episodes_episode head\n                WHERE head.id = NEW.episode_id AND head.app_id = NEW.app_id\n                    AND head.user_id IS NOT DISTINCT FROM NEW.user_id AND EXISTS (\n                    SELECT FROM episodes_episoderevision written\n                    WHERE written.app_id = NEW.app_id AND written.episode_id = NEW.episode_id\n                        AND written.revision = NEW.revision) AND head.scope = NEW.scope AND vector_dims(NEW.vector) = (\n                    SELECT g.dimensions FROM episodes_vectorgeneration g\n                    WHERE g.id = NEW.generation_id)\n            ) THEN\n                RAISE EXCEPTION 'a row of % does not belong to its episode', TG_TABLE_NAME\n                    USING ERRCODE = 'restrict_violation';\n            END IF;\n            RETURN NEW;\n        ",
                    hash="41bcedba4569d0ed8c874846c32ca6f66f989806",
                    operation="INSERT",
                    pgid="pgtrigger_belongs_to_its_head_254ab",
                    table="episodes_episodevector",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="episodevector",
            trigger=pgtrigger.compiler.Trigger(
                name="never_changed",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n            RAISE EXCEPTION 'UPDATE of % is refused: a row is written anew', TG_TABLE_NAME\n                USING ERRCODE = 'restrict_violation';\n        ",
                    hash="83d8b76b7b09721f3abdac9aeef4af283fbf09a9",
                    operation="UPDATE",
                    pgid="pgtrigger_never_changed_11dbd",
                    table="episodes_episodevector",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="pendingembedding",
            trigger=pgtrigger.compiler.Trigger(
                name="belongs_to_its_head",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n            IF NOT EXISTS (\n                SELECT FROM episodes_episode head\n                WHERE head.id = NEW.episode_id AND head.app_id = NEW.app_id\n                    AND head.user_id IS NOT DISTINCT FROM NEW.user_id AND EXISTS (\n                    SELECT FROM episodes_episoderevision written\n                    WHERE written.app_id = NEW.app_id AND written.episode_id = NEW.episode_id\n                        AND written.revision = NEW.revision)\n            ) THEN\n                RAISE EXCEPTION 'a row of % does not belong to its episode', TG_TABLE_NAME\n                    USING ERRCODE = 'restrict_violation';\n            END IF;\n            RETURN NEW;\n        ",
                    hash="aaae313aed0b5eabee68271abce4ae90dec41d96",
                    operation='INSERT OR UPDATE OF "app_id", "episode_id", "revision", "user_id"',
                    pgid="pgtrigger_belongs_to_its_head_6d16f",
                    table="episodes_pendingembedding",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="retentionrun",
            trigger=pgtrigger.compiler.Trigger(
                name="changes_only",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n                \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n                IF OLD.finished_at IS NULL THEN\n                    IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;\n                    IF TG_OP = 'UPDATE'\n                       AND to_jsonb(NEW) - ARRAY['finished_at', 'worked', 'batches', 'policies', 'stores', 'sample', 'n_held', 'n_busy', 'space'] = to_jsonb(OLD) - ARRAY['finished_at', 'worked', 'batches', 'policies', 'stores', 'sample', 'n_held', 'n_busy', 'space'] THEN\n                        RETURN NEW;\n                    END IF;\n                END IF;\n                RAISE EXCEPTION '% of % is refused: this of a row is never changed',\n                    TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';\n            ",
                    hash="e51f84a4378ca1485c48be269ebfe1c81abd8b89",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_changes_only_17b6f",
                    table="episodes_retentionrun",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="toolset",
            trigger=pgtrigger.compiler.Trigger(
                name="changes_only",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n                \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n                IF OLD.retired_at IS NULL THEN\n                    \n                    IF TG_OP = 'UPDATE'\n                       AND to_jsonb(NEW) - ARRAY['last_used_at', 'retired_at'] = to_jsonb(OLD) - ARRAY['last_used_at', 'retired_at'] THEN\n                        RETURN NEW;\n                    END IF;\n                END IF;\n                RAISE EXCEPTION '% of % is refused: this of a row is never changed',\n                    TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';\n            ",
                    hash="f26fe0c3602567bbf543d829e6624e8287d3743a",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_changes_only_0252d",
                    table="episodes_toolset",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="vectorgeneration",
            trigger=pgtrigger.compiler.Trigger(
                name="changes_only",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n                \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n                IF true THEN\n                    \n                    IF TG_OP = 'UPDATE'\n                       AND to_jsonb(NEW) - ARRAY['minimum', 'failure_threshold'] = to_jsonb(OLD) - ARRAY['minimum', 'failure_threshold'] THEN\n                        RETURN NEW;\n                    END IF;\n                END IF;\n                RAISE EXCEPTION '% of % is refused: this of a row is never changed',\n                    TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';\n            ",
                    hash="88740cfd9a454a3702aecde82ffc2a8de36b12a5",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_changes_only_20dfa",
                    table="episodes_vectorgeneration",
                    when="BEFORE",
                ),
            ),
        ),
    ]
