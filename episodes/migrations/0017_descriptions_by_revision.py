from __future__ import annotations

import django.contrib.postgres.fields
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

# What describes a session (agent, task, tags, start), its score and the time when it was known to
# be complete are kept with the evidence, and not only as the head has them now.

# Nobody wrote down what an earlier revision had said: all of them take what the head has. Whole
# rows are written anew, so only those that have something to take. The table is append-only; this
# one trigger is off for this statement, under the lock that adding the columns took.
DESCRIBE = """
    ALTER TABLE episodes_episoderevision DISABLE TRIGGER pgtrigger_append_only_a426d;
    UPDATE episodes_episoderevision r
    SET agent_id = h.agent_id, task_id = h.task_id, tags = h.tags,
        started_at = coalesce(r.started_at, h.started_at)
    FROM episodes_episode h
    WHERE h.app_id = r.app_id AND h.id = r.episode_id
        AND (h.agent_id <> '' OR h.task_id <> '' OR h.tags <> '{}'
            OR (r.started_at IS NULL AND h.started_at IS NOT NULL));
    ALTER TABLE episodes_episoderevision ENABLE TRIGGER pgtrigger_append_only_a426d;
"""

# What came finished was complete when it came. Of the rest the audit tells: an entry that closed
# the episode is exact; the first that saw it complete is it only where the episode's beginning has
# not been cut off. Such a text is canonical JSON, in which no value can hold an unescaped quote.
RECORD = """
    UPDATE episodes_episode h SET completed_recorded_at = r.written_at
    FROM episodes_episoderevision r
    WHERE r.app_id = h.app_id AND r.episode_id = h.id AND r.revision = 1 AND r.is_final
        AND h.state = 'completed' AND h.origin <> 'lifecycle';

    UPDATE episodes_episode h
    SET completed_recorded_at = CASE WHEN told.begins THEN least(told.closed, told.seen)
        ELSE told.closed END
    FROM (
        SELECT e.app_id, e.target_id, bool_or(e.verb = 'episode.created') AS begins,
            min(e.at) FILTER (WHERE e.verb = 'episode.completed') AS closed,
            min(e.at) FILTER (WHERE strpos(p.canonical, '"state":"completed"') > 0) AS seen
        FROM episodes_auditentry e LEFT JOIN episodes_auditpayload p ON p.entry_id = e.id
        WHERE e.target_kind = 'episode'
            AND e.verb IN ('episode.created', 'episode.revised', 'episode.confirmed',
                'episode.completed')
        GROUP BY e.app_id, e.target_id
    ) told
    WHERE told.app_id = h.app_id AND told.target_id = h.id::text
        AND h.state = 'completed' AND h.completed_recorded_at IS NULL;
"""


class Migration(migrations.Migration):
    dependencies = [("episodes", "0016_export")]
    operations = [
        pgtrigger.migrations.RemoveTrigger(model_name="episode", name="identity_is_fixed"),
        migrations.AddField(
            model_name="episode",
            name="completed_recorded_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="episoderevision",
            name="agent_id",
            field=models.CharField(blank=True, db_default="", default="", max_length=256),
        ),
        migrations.AddField(
            model_name="episoderevision",
            name="task_id",
            field=models.CharField(blank=True, db_default="", default="", max_length=256),
        ),
        migrations.AddField(
            model_name="episoderevision",
            name="tags",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=64),
                db_default=[],
                default=list,
                size=None,
            ),
        ),
        migrations.AddField(
            model_name="episoderevision",
            name="score",
            field=models.FloatField(null=True),
        ),
        migrations.RunSQL(DESCRIBE, migrations.RunSQL.noop),
        migrations.RunSQL(RECORD, migrations.RunSQL.noop),
        pgtrigger.migrations.AddTrigger(
            model_name="episode",
            trigger=pgtrigger.compiler.Trigger(
                name="identity_is_fixed",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n    IF (NEW.id, NEW.app_id, NEW.scope, NEW.user_id, NEW.session_id, NEW.episode_key,\n        NEW.wording_hash)\n       IS DISTINCT FROM\n       (OLD.id, OLD.app_id, OLD.scope, OLD.user_id, OLD.session_id, OLD.episode_key,\n        OLD.wording_hash)\n    THEN\n        RAISE EXCEPTION 'the identity of an episode never changes'\n            USING ERRCODE = 'restrict_violation';\n    END IF;\n    IF OLD.state = 'completed'\n       AND (NEW.state, NEW.completed_at, NEW.completed_recorded_at) IS DISTINCT FROM\n           (OLD.state, OLD.completed_at, OLD.completed_recorded_at) THEN\n        RAISE EXCEPTION 'a completed episode is not reopened and keeps its completion time'\n            USING ERRCODE = 'restrict_violation';\n    END IF;\n    RETURN NEW;\n",
                    hash="48719968b6fea3a10d11d8046c56a02f8a18950b",
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
                    ("completed_recorded_at__isnull", True),
                    ("state", "completed"),
                    _connector="OR",
                ),
                name="episodes_episode_only_completed_is_recorded",
            ),
        ),
        migrations.AddConstraint(
            model_name="episoderevision",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("score__isnull", True),
                    models.Q(("score__gt", float("-inf")), ("score__lt", float("inf"))),
                    _connector="OR",
                ),
                name="episodes_episoderevision_score_is_finite",
            ),
        ),
    ]
