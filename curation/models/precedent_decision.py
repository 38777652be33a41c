"""What of a precedent may change when it is decided: the rule that the database holds."""

from __future__ import annotations

from collections.abc import Iterable

import pgtrigger

from memoryadmin.lib.constraints import (
    ERASURE_MAY_DELETE,
    IS_ERASURE,
    Keeper,
    erasure_may_remove,
)

# What of a precedent goes on after its decision.
_AFTERWARDS = (
    *("status", "ended_by", "ended_at", "end_reason", "n_subjects", "version", "is_to_rederive"),
)
# What an erasure takes out of one, all of it together: where it comes from and what it says.
_NOTHING_LEFT = {
    **dict.fromkeys(("user_id", "source_episode_id", "source_revision"), "IS NULL"),
    **dict.fromkeys(
        ("goal", "resolution", "lesson", "accepted_because", "override_reason"), "= ''"
    ),
    **dict.fromkeys(("issue_type", "agent_id", "toolset_version"), "= ''"),
    **dict.fromkeys(("steps", "redactions", "dropped", "edited", "accepted"), "= '[]'"),
}
# Where people write: an erasure removes what names its subject, whosever precedent it is.
_SAID = ("accepted_because", "override_reason", "end_reason")
_EMPTY = " AND ".join(f"NEW.{column} {empty}" for column, empty in _NOTHING_LEFT.items())


def _array(columns: Iterable[str]) -> str:
    return "ARRAY[" + ", ".join(f"'{column}'" for column in columns) + "]"


# What is published stays what was approved; only an erasure empties it. A decision is final.
_DECIDED_ONCE = f"""
    {ERASURE_MAY_DELETE}{erasure_may_remove(_SAID)}
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'a precedent is not deleted' USING ERRCODE = 'restrict_violation';
    END IF;
    IF (NEW.id, NEW.app_id, NEW.proposer, NEW.offered_from, NEW.offered_from_app_id, NEW.supersedes)
       IS DISTINCT FROM
       (OLD.id, OLD.app_id, OLD.proposer, OLD.offered_from, OLD.offered_from_app_id, OLD.supersedes)
    THEN
        RAISE EXCEPTION 'where a precedent comes from never changes'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.status <> OLD.status AND NOT (
        OLD.status IN ('proposed', 'offered') AND NEW.status IN ('approved', 'refused', 'withdrawn')
        OR OLD.status = 'approved' AND NEW.status IN ('withdrawn', 'superseded'))
    THEN
        RAISE EXCEPTION 'a precedent that is % does not become %', OLD.status, NEW.status
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF OLD.status IN ('proposed', 'offered') THEN
        RETURN NEW;
    END IF;
    before := to_jsonb(OLD) - {_array(_AFTERWARDS)};
    after := to_jsonb(NEW) - {_array(_AFTERWARDS)};
    is_emptied := {IS_ERASURE} AND {_EMPTY};
    IF is_emptied THEN
        before := before - {_array(_NOTHING_LEFT)};
        after := after - {_array(_NOTHING_LEFT)};
    END IF;
    IF after IS DISTINCT FROM before THEN
        RAISE EXCEPTION 'what was decided about is not changed afterwards'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF OLD.ended_at IS NOT NULL AND NOT is_emptied
       AND (NEW.ended_by, NEW.ended_at, NEW.end_reason)
           IS DISTINCT FROM (OLD.ended_by, OLD.ended_at, OLD.end_reason)
    THEN
        RAISE EXCEPTION 'who ended a precedent, when and why is not changed afterwards'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
"""


class DecidedOnce(Keeper):
    """Lets a precedent be decided once and ended once; an erasure may empty it, and delete it."""

    rights = "SELECT, INSERT, UPDATE"
    said = _SAID


def decided_once() -> pgtrigger.Trigger:
    return DecidedOnce(
        name="decided_once",
        operation=pgtrigger.Update | pgtrigger.Delete,
        when=pgtrigger.Before,
        declare=[("before", "jsonb"), ("after", "jsonb"), ("is_emptied", "boolean")],
        func=_DECIDED_ONCE,
    )
