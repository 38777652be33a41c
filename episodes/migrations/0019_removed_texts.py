from __future__ import annotations

import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("episodes", "0018_idempotency_hashes"),
    ]

    operations = [
        pgtrigger.migrations.RemoveTrigger(
            model_name="erasure",
            name="signed_is_final",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="hold",
            name="closed_once",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="outcomeentry",
            name="append_only",
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="erasure",
            trigger=pgtrigger.compiler.Trigger(
                name="signed_is_final",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n    \n    IF TG_OP = 'UPDATE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on'\n       AND to_jsonb(NEW) - ARRAY['reason'] = to_jsonb(OLD) - ARRAY['reason'] AND NEW.reason IN (OLD.reason, '(removed by an erasure)') THEN\n        RETURN NEW;\n    END IF;\n\n    IF TG_OP = 'UPDATE' AND (OLD.certificate IS NULL\n       OR OLD.clearance IS NULL\n       AND to_jsonb(NEW) - ARRAY['clearance', 'physically_cleared_at']\n           = to_jsonb(OLD) - ARRAY['clearance', 'physically_cleared_at']) THEN\n        RETURN NEW;\n    END IF;\n    RAISE EXCEPTION '% of % is refused: what an erasure has signed stays', TG_OP, TG_TABLE_NAME\n        USING ERRCODE = 'restrict_violation';\n",
                    hash="e9afaff5df4f9c66b8154c1e3f489139f283810f",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_signed_is_final_2010d",
                    table="episodes_erasure",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="hold",
            trigger=pgtrigger.compiler.Trigger(
                name="closed_once",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n                \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n    IF TG_OP = 'UPDATE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on'\n       AND to_jsonb(NEW) - ARRAY['reason', 'end_reason'] = to_jsonb(OLD) - ARRAY['reason', 'end_reason'] AND NEW.reason IN (OLD.reason, '(removed by an erasure)') AND NEW.end_reason IN (OLD.end_reason, '(removed by an erasure)') THEN\n        RETURN NEW;\n    END IF;\n\n                IF TG_OP = 'UPDATE' AND OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL\n                   AND to_jsonb(NEW) - ARRAY['ended_at', 'ended_by', 'end_reason'] = to_jsonb(OLD) - ARRAY['ended_at', 'ended_by', 'end_reason'] THEN\n                    RETURN NEW;\n                END IF;\n                RAISE EXCEPTION '% of % is refused: a row is closed once and otherwise never changed',\n                    TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';\n            ",
                    hash="36105fa4c523b4d790c71e0835287e67c5ac5193",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_closed_once_4f096",
                    table="episodes_hold",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="outcomeentry",
            trigger=pgtrigger.compiler.Trigger(
                name="append_only",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n            \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n    IF TG_OP = 'UPDATE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on'\n       AND to_jsonb(NEW) - ARRAY['reason'] = to_jsonb(OLD) - ARRAY['reason'] AND NEW.reason IN (OLD.reason, '(removed by an erasure)') THEN\n        RETURN NEW;\n    END IF;\n\n            RAISE EXCEPTION '% of % is refused: the table is append-only', TG_OP, TG_TABLE_NAME\n                USING ERRCODE = 'restrict_violation';\n        ",
                    hash="a0bd3447a635494ceef20a6f021f5b84c75a7978",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_append_only_65cb5",
                    table="episodes_outcomeentry",
                    when="BEFORE",
                ),
            ),
        ),
    ]
