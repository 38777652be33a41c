"""Database rules that more than one table states in the same words."""

from __future__ import annotations

import pgtrigger
from django.db import models


def one_of(field: str, choices: type[models.TextChoices], name: str) -> models.CheckConstraint:
    """Return the check that `field` holds one of `choices`."""
    return models.CheckConstraint(condition=models.Q(**{f"{field}__in": choices.values}), name=name)


def append_only() -> pgtrigger.Trigger:
    """Return the trigger that refuses every update, and every delete but an erasure's.

    An erasure is a transaction that has taken the role memoryadmin_erase and set
    memoryadmin.erasing; the role alone or the setting alone is not enough.
    """
    return pgtrigger.Trigger(
        name="append_only",
        operation=pgtrigger.Update | pgtrigger.Delete,
        when=pgtrigger.Before,
        func="""
            IF TG_OP = 'DELETE' AND current_user = 'memoryadmin_erase'
               AND current_setting('memoryadmin.erasing', true) = 'on' THEN
                RETURN OLD;
            END IF;
            RAISE EXCEPTION '% of % is refused: the table is append-only', TG_OP, TG_TABLE_NAME
                USING ERRCODE = 'restrict_violation';
        """,
    )
