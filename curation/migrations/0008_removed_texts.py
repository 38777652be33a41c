from __future__ import annotations

import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("curation", "0007_alarms_of_origins"),
    ]

    operations = [
        pgtrigger.migrations.RemoveTrigger(
            model_name="alarm",
            name="closed_once",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="containment",
            name="closed_once",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="flag",
            name="closed_once",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="incidentevent",
            name="append_only",
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="alarm",
            trigger=pgtrigger.compiler.Trigger(
                name="closed_once",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n                \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n    IF TG_OP = 'UPDATE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on'\n       AND to_jsonb(NEW) - ARRAY['reason'] = to_jsonb(OLD) - ARRAY['reason'] AND NEW.reason IN (OLD.reason, '(removed by an erasure)') THEN\n        RETURN NEW;\n    END IF;\n\n                IF TG_OP = 'UPDATE' AND OLD.closed_at IS NULL AND NEW.closed_at IS NOT NULL\n                   AND to_jsonb(NEW) - ARRAY['closed_at', 'closed_by', 'ending', 'reason'] = to_jsonb(OLD) - ARRAY['closed_at', 'closed_by', 'ending', 'reason'] THEN\n                    RETURN NEW;\n                END IF;\n                RAISE EXCEPTION '% of % is refused: a row is closed once and otherwise never changed',\n                    TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';\n            ",
                    hash="f5d72a10c34748458359ffc3a1868606073580a3",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_closed_once_f9adc",
                    table="curation_alarm",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="containment",
            trigger=pgtrigger.compiler.Trigger(
                name="closed_once",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n                \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n    IF TG_OP = 'UPDATE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on'\n       AND to_jsonb(NEW) - ARRAY['reason', 'lift_reason'] = to_jsonb(OLD) - ARRAY['reason', 'lift_reason'] AND NEW.reason IN (OLD.reason, '(removed by an erasure)') AND NEW.lift_reason IN (OLD.lift_reason, '(removed by an erasure)') THEN\n        RETURN NEW;\n    END IF;\n\n                IF TG_OP = 'UPDATE' AND OLD.lifted_at IS NULL AND NEW.lifted_at IS NOT NULL\n                   AND to_jsonb(NEW) - ARRAY['lifted_at', 'lifted_by', 'lift_reason'] = to_jsonb(OLD) - ARRAY['lifted_at', 'lifted_by', 'lift_reason'] THEN\n                    RETURN NEW;\n                END IF;\n                RAISE EXCEPTION '% of % is refused: a row is closed once and otherwise never changed',\n                    TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';\n            ",
                    hash="cd6c9856c274683a37b178fad3414393392aa22b",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_closed_once_7844a",
                    table="curation_containment",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="flag",
            trigger=pgtrigger.compiler.Trigger(
                name="closed_once",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n                \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n    IF TG_OP = 'UPDATE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on'\n       AND to_jsonb(NEW) - ARRAY['note', 'lift_reason'] = to_jsonb(OLD) - ARRAY['note', 'lift_reason'] AND NEW.note IN (OLD.note, '(removed by an erasure)') AND NEW.lift_reason IN (OLD.lift_reason, '(removed by an erasure)') THEN\n        RETURN NEW;\n    END IF;\n\n                IF TG_OP = 'UPDATE' AND OLD.lifted_at IS NULL AND NEW.lifted_at IS NOT NULL\n                   AND to_jsonb(NEW) - ARRAY['lifted_at', 'lifted_by', 'lift_reason'] = to_jsonb(OLD) - ARRAY['lifted_at', 'lifted_by', 'lift_reason'] THEN\n                    RETURN NEW;\n                END IF;\n                RAISE EXCEPTION '% of % is refused: a row is closed once and otherwise never changed',\n                    TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';\n            ",
                    hash="c6adf82a624b6b1afa16ba507371eebd4dfcf955",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_closed_once_e2bd1",
                    table="curation_flag",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="incidentevent",
            trigger=pgtrigger.compiler.Trigger(
                name="append_only",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n            \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n    IF TG_OP = 'UPDATE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on'\n       AND to_jsonb(NEW) - ARRAY['text'] = to_jsonb(OLD) - ARRAY['text'] AND NEW.text IN (OLD.text, '(removed by an erasure)') THEN\n        RETURN NEW;\n    END IF;\n\n            RAISE EXCEPTION '% of % is refused: the table is append-only', TG_OP, TG_TABLE_NAME\n                USING ERRCODE = 'restrict_violation';\n        ",
                    hash="c2ee8faee1301e84e206e90cd621c689646b20f0",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_append_only_cf2f4",
                    table="curation_incidentevent",
                    when="BEFORE",
                ),
            ),
        ),
    ]
