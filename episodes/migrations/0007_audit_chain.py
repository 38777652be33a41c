from __future__ import annotations

import django.db.models.functions.datetime
import pgtrigger.compiler
import pgtrigger.migrations
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models

import memoryadmin.lib.clock
import memoryadmin.lib.ids

# Takes the first lane that nobody else holds, to the end of the transaction, and gives each digest
# its place in it. Never waits, so it can be part of no deadlock, unless 256 transactions write at
# once. A statement of this function sees what the lane's last holder committed: the lock comes first.
LINK = """
CREATE FUNCTION memoryadmin_audit_link(digests bytea[])
RETURNS TABLE (lane smallint, number bigint, chain bytea) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    taken integer := -1;
    at_number bigint;
    at_chain bytea;
    digest bytea;
BEGIN
    FOR candidate IN 0..255 LOOP
        IF pg_try_advisory_xact_lock(1835365737, candidate) THEN
            taken := candidate;
            EXIT;
        END IF;
    END LOOP;
    IF taken < 0 THEN
        taken := pg_backend_pid() % 256;
        PERFORM pg_advisory_xact_lock(1835365737, taken);
    END IF;
    SELECT l.number, l.chain INTO at_number, at_chain FROM episodes_auditlane l WHERE l.lane = taken;
    IF NOT FOUND THEN
        at_number := 0;
        at_chain := sha256(convert_to('memoryadmin audit lane ' || taken, 'UTF8'));
    END IF;
    FOREACH digest IN ARRAY digests LOOP
        at_number := at_number + 1;
        at_chain := sha256(at_chain || int8send(at_number) || digest);
        RETURN QUERY SELECT taken::smallint, at_number, at_chain;
    END LOOP;
    INSERT INTO episodes_auditlane AS l (lane, number, chain) VALUES (taken, at_number, at_chain)
    ON CONFLICT ON CONSTRAINT episodes_auditlane_pkey
        DO UPDATE SET number = excluded.number, chain = excluded.chain;
END
$$
"""


class Migration(migrations.Migration):
    dependencies = [("episodes", "0006_lineage")]
    operations = [
        migrations.CreateModel(
            name="AuditCheckpoint",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=memoryadmin.lib.ids.new_id,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        default=memoryadmin.lib.clock.now,
                    ),
                ),
                ("statement", models.JSONField()),
            ],
        ),
        migrations.CreateModel(
            name="AuditLane",
            fields=[
                ("lane", models.SmallIntegerField(primary_key=True, serialize=False)),
                ("number", models.BigIntegerField()),
                ("chain", models.BinaryField(max_length=32)),
            ],
        ),
        migrations.AddField(
            model_name="auditentry",
            name="chain",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="auditentry",
            name="lane",
            field=models.SmallIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="auditentry",
            name="number",
            field=models.BigIntegerField(null=True),
        ),
        AddConstraintNotValid(
            model_name="auditentry",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("chain__isnull", False), ("lane__isnull", False), ("number__gte", 1)
                ),
                name="episodes_auditentry_is_chained",
            ),
        ),
        migrations.AddConstraint(
            model_name="auditentry",
            constraint=models.UniqueConstraint(
                fields=("lane", "number"), name="episodes_auditentry_one_per_place"
            ),
        ),
        migrations.AddIndex(
            model_name="auditcheckpoint",
            index=models.Index(
                models.OrderBy(models.F("at"), descending=True),
                models.OrderBy(models.F("id"), descending=True),
                name="auditcheckpoint_newest",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="auditcheckpoint",
            trigger=pgtrigger.compiler.Trigger(
                name="append_only",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n            \n    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'\n       AND current_setting('memoryadmin.erasing', true) = 'on' THEN\n        RETURN OLD;\n    END IF;\n\n            RAISE EXCEPTION '% of % is refused: the table is append-only', TG_OP, TG_TABLE_NAME\n                USING ERRCODE = 'restrict_violation';\n        ",
                    hash="c7a938ff525f95173e7f2bdff81a1373d24d653d",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_append_only_a8a51",
                    table="episodes_auditcheckpoint",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="auditlane",
            trigger=pgtrigger.compiler.Trigger(
                name="only_forwards",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n                    IF TG_OP = 'UPDATE' AND NEW.lane = OLD.lane AND NEW.number > OLD.number THEN\n                        RETURN NEW;\n                    END IF;\n                    RAISE EXCEPTION 'a lane of the audit only gets longer'\n                        USING ERRCODE = 'restrict_violation';\n                ",
                    hash="81f0af30dbcd7f80737efc171791c6d0679b1232",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_only_forwards_43493",
                    table="episodes_auditlane",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.RunSQL(LINK, "DROP FUNCTION memoryadmin_audit_link(bytea[])"),
    ]
