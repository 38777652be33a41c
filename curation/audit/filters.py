"""The filters of the audit: out of the address, into the query, and back into links."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.db.models import QuerySet
from django.http import QueryDict

from curation.audit.words import READS, ROLE_CHOICES, WAYS
from curation.lists.episode_filters import Chip
from episodes.models import AuditEntry
from episodes.models.audit import IS_A_READ

_EXACT = {
    "actor": "actor",
    "key": "key_prefix",
    "target_kind": "target_kind",
    "target": "target_id",
    "request": "request_id",
}


def _exact(label: str, length: int) -> forms.CharField:
    return forms.CharField(label=label, max_length=length, required=False, strip=False)


def _day(label: str) -> forms.DateField:
    picker = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    return forms.DateField(label=label, required=False, widget=picker)


class AuditFilterForm(forms.Form):
    """By the names that the filters have in the address. Names and ids are compared by equality."""

    way = forms.ChoiceField(label="Changes and reads", required=False, choices=WAYS)
    actor = _exact("Who", 200)
    role = forms.ChoiceField(label="In the role", required=False, choices=ROLE_CHOICES)
    key = _exact("Key (prefix)", 16)
    verb = forms.RegexField(
        label="Act, or a group of them",
        regex=r"^[a-z_]+(\.[a-z_]+)?$",
        max_length=64,
        required=False,
        error_messages={"invalid": "As it is written: outcome.stated, or for all of them outcome."},
    )
    target_kind = _exact("Kind of thing", 32)
    target = _exact("Its id", 64)
    request = _exact("Request", 64)
    since = _day("Since (UTC)")
    until = _day("Until (UTC)")


def narrow(rows: QuerySet[AuditEntry], asked: dict[str, Any]) -> QuerySet[AuditEntry]:
    """`asked`: the cleaned data of a valid form."""
    rows = rows.filter(**{column: asked[name] for name, column in _EXACT.items() if asked[name]})
    if asked["way"]:
        rows = rows.filter(IS_A_READ if asked["way"] == READS else ~IS_A_READ)
    if asked["role"]:
        rows = rows.filter(role="" if asked["role"] == "none" else asked["role"])
    if asked["verb"]:
        is_whole = "." in asked["verb"]
        rows = rows.filter(
            **({"verb": asked["verb"]} if is_whole else {"verb__startswith": f"{asked['verb']}."})
        )
    if asked["since"]:
        rows = rows.filter(at__gte=_midnight(asked["since"]))
    if asked["until"]:
        # the day itself is in it
        rows = rows.filter(at__lt=_midnight(asked["until"]) + timedelta(days=1))
    return rows


def said(asked: dict[str, Any]) -> dict[str, str]:
    """What was asked for, as it is recorded: no filter of the audit names a subject."""
    return {name: str(value) for name, value in asked.items() if value}


def chips(asked: QueryDict) -> list[Chip]:
    """Return one for each value that narrows the audit, in the order of the form."""
    found = []
    for name, field in AuditFilterForm.base_fields.items():
        value = asked.get(name, "")
        if value:
            spoken = dict(getattr(field, "choices", ())).get(value, value)
            label = str(field.label).removesuffix(" (UTC)")
            found.append(Chip(label, str(spoken), _without(asked, name)))
    return found


def address(asked: QueryDict) -> str:
    """Return the filters as an address says them, without the page."""
    left = [(key, asked[key]) for key in AuditFilterForm.base_fields if asked.get(key)]
    return f"?{urlencode(left)}" if left else ""


def _without(asked: QueryDict, name: str) -> str:
    left = [(key, asked[key]) for key in asked if key not in {name, "page"} and asked[key]]
    return f"?{urlencode(left)}"


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)
