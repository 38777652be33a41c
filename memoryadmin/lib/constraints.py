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
IS_ERASURE = """current_user = 'memoryadmin_erase'
       AND current_setting('memoryadmin.erasing', true) = 'on'"""
ERASURE_MAY_DELETE = f"""
    IF TG_OP = 'DELETE' AND {IS_ERASURE} THEN
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
    IF TG_OP = 'UPDATE' AND {IS_ERASURE}
       AND to_jsonb(NEW) - ARRAY[{listed}] = to_jsonb(OLD) - ARRAY[{listed}] AND {only} THEN
        RETURN NEW;
    END IF;
"""


class Keeper(pgtrigger.Trigger):  # type: ignore[misc]  # untyped
    """A trigger that says what becomes of a table's rows. `rights`: what is left to web and workers
    (memoryadmin/lib/grants.py). `said`: the columns in which people write, from which an erasure
    removes a text that names its subject."""

    rights = "SELECT, INSERT"
    said: tuple[str, ...] = ()


class AppendOnly(Keeper):
    """Refuses every update, and every delete but an erasure's."""


class NeverChanged(Keeper):
    """Refuses every update; rows come and go."""

    rights = "SELECT, INSERT, DELETE"


class ChangesOnly(Keeper):
    """Lets only `columns` of a row change, and with `until` only as long as that one is null.

    Rows stay; with `may_go` one goes that has not ended.
    """

    def __init__(
        self, *, columns: Sequence[str], until: str | None = None, may_go: bool = False
    ) -> None:
        listed = ", ".join(f"'{column}'" for column in columns)
        self.rights = f"SELECT, INSERT, UPDATE ({', '.join(columns)})"
        if may_go:
            self.rights += ", DELETE"
        super().__init__(
            name="changes_only",
            operation=pgtrigger.Update | pgtrigger.Delete,
            when=pgtrigger.Before,
            func=f"""
                {ERASURE_MAY_DELETE}
                IF {f"OLD.{until} IS NULL" if until else "true"} THEN
                    {"IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;" if may_go else ""}
                    IF TG_OP = 'UPDATE'
                       AND to_jsonb(NEW) - ARRAY[{listed}] = to_jsonb(OLD) - ARRAY[{listed}] THEN
                        RETURN NEW;
                    END IF;
                END IF;
                RAISE EXCEPTION '% of % is refused: this of a row is never changed',
                    TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
            """,
        )


class ClosedOnce(Keeper):
    """Lets an interval row be closed, once, and refuses any other update.

    `columns` are what closing sets; the first of them is the end, null until then. `said` as above.
    """

    def __init__(
        self, *, columns: Sequence[str], kept_for_good: bool = False, said: Sequence[str] = ()
    ) -> None:
        self.rights, self.said = f"SELECT, INSERT, UPDATE ({', '.join(columns)})", tuple(said)
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


def never_changed() -> pgtrigger.Trigger:
    """Return the trigger of tables whose rows are written and deleted, and never updated."""
    return NeverChanged(
        name="never_changed",
        operation=pgtrigger.Update,
        when=pgtrigger.Before,
        func="""
            RAISE EXCEPTION 'UPDATE of % is refused: a row is written anew', TG_TABLE_NAME
                USING ERRCODE = 'restrict_violation';
        """,
    )


# For what names a revision: there is one of that number. Revisions are append-only and go with
# their head, which the row's foreign key holds.
HAS_REVISION = """EXISTS (
                    SELECT FROM episodes_episoderevision written
                    WHERE written.app_id = NEW.app_id AND written.episode_id = NEW.episode_id
                        AND written.revision = NEW.revision)"""


def belongs_to_its_head(*extra: str, moves: Sequence[str] = ()) -> pgtrigger.Trigger:
    """Return the trigger that refuses a row about an episode under another subject's id.

    An erasure finds rows by their `user_id`; one that named another subject, or none, would stay.
    `extra` are further conditions over NEW and head. `moves`: columns by which an update, where the
    table lets rows be updated, would give the row to another episode.
    """
    condition = " ".join(f"AND {each}" for each in extra)
    inserted: pgtrigger.Operation = pgtrigger.Insert
    return pgtrigger.Trigger(
        name="belongs_to_its_head",
        operation=inserted | pgtrigger.UpdateOf(*moves) if moves else inserted,
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
