"""Database rules that more than one table states in the same words.

pgtrigger lets a session switch its triggers off (`pgtrigger.ignore`); memoryadmin/lib/grants.py
takes that away from the roles that serve.
"""

from __future__ import annotations

from collections.abc import Sequence

import pgtrigger
from django.db import models

# An erasure is a transaction that has taken the role memoryadmin_erase and set
# memoryadmin.erasing; the role alone or the setting alone is not enough.
ERASURE_MAY_DELETE = """
    IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'
       AND current_setting('memoryadmin.erasing', true) = 'on' THEN
        RETURN OLD;
    END IF;
"""


# What stands in the place of a text that named an erased subject, in a row that is not its own.
REMOVED = "(removed by an erasure)"


def erasure_may_remove(said: Sequence[str]) -> str:
    """Return what lets an erasure put REMOVED into columns in which people write, and change nothing
    else of a row that is otherwise never changed: whose it is, when and by whom stays."""
    if not said:
        return ""
    listed = ", ".join(f"'{column}'" for column in said)
    only = " AND ".join(f"NEW.{column} IN (OLD.{column}, '{REMOVED}')" for column in said)
    return f"""
    IF TG_OP = 'UPDATE' AND current_user = 'memoryadmin_erase'
       AND current_setting('memoryadmin.erasing', true) = 'on'
       AND to_jsonb(NEW) - ARRAY[{listed}] = to_jsonb(OLD) - ARRAY[{listed}] AND {only} THEN
        RETURN NEW;
    END IF;
"""


class AppendOnly(pgtrigger.Trigger):  # type: ignore[misc]  # untyped
    """Refuses every update, and every delete but an erasure's. `said`: the columns in which people
    write, from which an erasure removes a text that names its subject."""

    said: tuple[str, ...] = ()


class ClosedOnce(pgtrigger.Trigger):  # type: ignore[misc]  # untyped
    """Lets an interval row be closed, once, and refuses any other update.

    `columns` are what closing sets; the first of them is the end, null until then. `said` as above.
    """

    def __init__(
        self, *, columns: Sequence[str], kept_for_good: bool = False, said: Sequence[str] = ()
    ) -> None:
        self.columns, self.said = tuple(columns), tuple(said)
        listed = ", ".join(f"'{column}'" for column in columns)
        end = columns[0]
        super().__init__(
            name="closed_once",
            operation=pgtrigger.Update | pgtrigger.Delete,
            when=pgtrigger.Before,
            func=f"""
                {"" if kept_for_good else ERASURE_MAY_DELETE}{erasure_may_remove(said)}
                IF TG_OP = 'UPDATE' AND OLD.{end} IS NULL AND NEW.{end} IS NOT NULL
                   AND to_jsonb(NEW) - ARRAY[{listed}] = to_jsonb(OLD) - ARRAY[{listed}] THEN
                    RETURN NEW;
                END IF;
                RAISE EXCEPTION '% of % is refused: a row is closed once and otherwise never changed',
                    TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
            """,
        )


def one_of(
    field: str, choices: type[models.TextChoices], name: str, *, null: bool = False
) -> models.CheckConstraint:
    """Return the check that `field` holds one of `choices` (or, with `null`, nothing)."""
    held = models.Q(**{f"{field}__in": choices.values, f"{field}__isnull": False})
    return models.CheckConstraint(
        condition=held | models.Q(**{f"{field}__isnull": True}) if null else held, name=name
    )


def append_only(*said: str) -> pgtrigger.Trigger:
    """Return the trigger of tables whose rows are written once."""
    trigger = AppendOnly(
        name="append_only",
        operation=pgtrigger.Update | pgtrigger.Delete,
        when=pgtrigger.Before,
        func=f"""
            {ERASURE_MAY_DELETE}{erasure_may_remove(said)}
            RAISE EXCEPTION '% of % is refused: the table is append-only', TG_OP, TG_TABLE_NAME
                USING ERRCODE = 'restrict_violation';
        """,
    )
    trigger.said = said
    return trigger


def belongs_to_its_head(extra: str = "") -> pgtrigger.Trigger:
    """Return the trigger that refuses a row about an episode under another subject's id.

    An erasure finds rows by their `user_id`; one that named another subject, or none, would stay.
    `extra` is a further condition over NEW and head.
    """
    condition = f"AND {extra}" if extra else ""
    return pgtrigger.Trigger(
        name="belongs_to_its_head",
        operation=pgtrigger.Insert,
        when=pgtrigger.Before,
        func=f"""
            IF NOT EXISTS (
                SELECT FROM episodes_episode head
                WHERE head.id = NEW.episode_id AND head.app_id = NEW.app_id
                    AND head.user_id IS NOT DISTINCT FROM NEW.user_id {condition}
            ) THEN
                RAISE EXCEPTION 'a row of % does not belong to its episode', TG_TABLE_NAME
                    USING ERRCODE = 'restrict_violation';
            END IF;
            RETURN NEW;
        """,
    )
