import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("curation", "0008_removed_texts"),
        ("episodes", "0023_asked_indexes"),
    ]

    operations = [
        pgtrigger.migrations.RemoveTrigger(
            model_name="precedent",
            name="decided_once",
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="consolidation",
            trigger=pgtrigger.compiler.Trigger(
                name="decided_once",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n                    \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n    IF TG_OP = 'UPDATE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on'\n       AND to_jsonb(NEW) - ARRAY['reason'] = to_jsonb(OLD) - ARRAY['reason'] AND NEW.reason IN (OLD.reason, '(removed by an erasure)') THEN\n        RETURN NEW;\n    END IF;\n\n                    IF TG_OP = 'UPDATE' AND (\n                        OLD.status = 'proposed' AND to_jsonb(NEW) - ARRAY['n_sources', 'n_subjects', 'status', 'decided_by', 'decided_role', 'decided_at', 'reason', 'precedent_id'] = to_jsonb(OLD) - ARRAY['n_sources', 'n_subjects', 'status', 'decided_by', 'decided_role', 'decided_at', 'reason', 'precedent_id']\n                        OR current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' AND to_jsonb(NEW) - ARRAY['n_sources', 'n_subjects'] = to_jsonb(OLD) - ARRAY['n_sources', 'n_subjects'])\n                    THEN\n                        RETURN NEW;\n                    END IF;\n                    RAISE EXCEPTION '% of % is refused: a lesson is decided once',\n                        TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';\n                ",
                    hash="b3a637a9b7370d8f224929352106e217bdc2be82",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_decided_once_60001",
                    table="curation_consolidation",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="consolidationsource",
            trigger=pgtrigger.compiler.Trigger(
                name="append_only",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n            \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n            RAISE EXCEPTION '% of % is refused: the table is append-only', TG_OP, TG_TABLE_NAME\n                USING ERRCODE = 'restrict_violation';\n        ",
                    hash="7b3d20347baaddacac9dd297d2bfc5150977fa78",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_append_only_8f80f",
                    table="curation_consolidationsource",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="contribution",
            trigger=pgtrigger.compiler.Trigger(
                name="counted_until_decided",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n                    \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n                    IF TG_OP = 'DELETE' AND EXISTS (\n                        SELECT FROM curation_precedent of\n                        WHERE of.id = OLD.precedent_id AND of.app_id = OLD.app_id\n                            AND of.status IN ('proposed', 'offered'))\n                    THEN\n                        RETURN OLD;\n                    END IF;\n                    RAISE EXCEPTION '% of % is refused: who stood behind a decision stays',\n                        TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';\n                ",
                    hash="494a0aa6c9b4a0980bf9c13180ee847541ff2826",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_counted_until_decided_b0a78",
                    table="curation_contribution",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="precedent",
            trigger=pgtrigger.compiler.Trigger(
                name="decided_once",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    declare="DECLARE before jsonb; after jsonb; is_emptied boolean;",
                    func="\n    \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n    IF TG_OP = 'UPDATE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on'\n       AND to_jsonb(NEW) - ARRAY['accepted_because', 'override_reason', 'end_reason'] = to_jsonb(OLD) - ARRAY['accepted_because', 'override_reason', 'end_reason'] AND NEW.accepted_because IN (OLD.accepted_because, '(removed by an erasure)') AND NEW.override_reason IN (OLD.override_reason, '(removed by an erasure)') AND NEW.end_reason IN (OLD.end_reason, '(removed by an erasure)') THEN\n        RETURN NEW;\n    END IF;\n\n    IF TG_OP = 'DELETE' THEN\n        RAISE EXCEPTION 'a precedent is not deleted' USING ERRCODE = 'restrict_violation';\n    END IF;\n    IF (NEW.id, NEW.app_id, NEW.proposer, NEW.offered_from, NEW.offered_from_app_id, NEW.supersedes)\n       IS DISTINCT FROM\n       (OLD.id, OLD.app_id, OLD.proposer, OLD.offered_from, OLD.offered_from_app_id, OLD.supersedes)\n    THEN\n        RAISE EXCEPTION 'where a precedent comes from never changes'\n            USING ERRCODE = 'restrict_violation';\n    END IF;\n    IF NEW.status <> OLD.status AND NOT (\n        OLD.status IN ('proposed', 'offered') AND NEW.status IN ('approved', 'refused', 'withdrawn')\n        OR OLD.status = 'approved' AND NEW.status IN ('withdrawn', 'superseded'))\n    THEN\n        RAISE EXCEPTION 'a precedent that is % does not become %', OLD.status, NEW.status\n            USING ERRCODE = 'restrict_violation';\n    END IF;\n    IF OLD.status IN ('proposed', 'offered') THEN\n        RETURN NEW;\n    END IF;\n    before := to_jsonb(OLD) - ARRAY['status', 'ended_by', 'ended_at', 'end_reason', 'n_subjects', 'version', 'is_to_rederive'];\n    after := to_jsonb(NEW) - ARRAY['status', 'ended_by', 'ended_at', 'end_reason', 'n_subjects', 'version', 'is_to_rederive'];\n    is_emptied := current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' AND NEW.user_id IS NULL AND NEW.source_episode_id IS NULL AND NEW.source_revision IS NULL AND NEW.goal = '' AND NEW.resolution = '' AND NEW.lesson = '' AND NEW.accepted_because = '' AND NEW.override_reason = '' AND NEW.issue_type = '' AND NEW.agent_id = '' AND NEW.toolset_version = '' AND NEW.steps = '[]' AND NEW.redactions = '[]' AND NEW.dropped = '[]' AND NEW.edited = '[]' AND NEW.accepted = '[]';\n    IF is_emptied THEN\n        before := before - ARRAY['user_id', 'source_episode_id', 'source_revision', 'goal', 'resolution', 'lesson', 'accepted_because', 'override_reason', 'issue_type', 'agent_id', 'toolset_version', 'steps', 'redactions', 'dropped', 'edited', 'accepted'];\n        after := after - ARRAY['user_id', 'source_episode_id', 'source_revision', 'goal', 'resolution', 'lesson', 'accepted_because', 'override_reason', 'issue_type', 'agent_id', 'toolset_version', 'steps', 'redactions', 'dropped', 'edited', 'accepted'];\n    END IF;\n    IF after IS DISTINCT FROM before THEN\n        RAISE EXCEPTION 'what was decided about is not changed afterwards'\n            USING ERRCODE = 'restrict_violation';\n    END IF;\n    IF OLD.ended_at IS NOT NULL AND NOT is_emptied\n       AND (NEW.ended_by, NEW.ended_at, NEW.end_reason)\n           IS DISTINCT FROM (OLD.ended_by, OLD.ended_at, OLD.end_reason)\n    THEN\n        RAISE EXCEPTION 'who ended a precedent, when and why is not changed afterwards'\n            USING ERRCODE = 'restrict_violation';\n    END IF;\n    RETURN NEW;\n",
                    hash="b06995bb35ad7d381b0395df19c3c289e5ea7afc",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_decided_once_18db1",
                    table="curation_precedent",
                    when="BEFORE",
                ),
            ),
        ),
    ]
