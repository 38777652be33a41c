"""The filters of the recall log: out of the address, into the query, and back into links."""

from __future__ import annotations

from datetime import UTC, datetime, time
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.db.models import QuerySet
from django.http import QueryDict

from curation.lists.episode_filters import Chip
from curation.lists.recall_words import ARMS
from episodes.enums import Arm
from episodes.models import Recall, RecallHit

NO_ARM = "none"


def _exact(label: str, *, length: int = 256) -> forms.CharField:
    """An id, compared by equality: spaces count."""
    return forms.CharField(label=label, max_length=length, required=False, strip=False)


class RecallFilterForm(forms.Form):
    """By the names that the filters have in the address."""

    session_id = _exact("Session")
    user_id = _exact("Subject")
    episode = forms.UUIDField(label="Episode given", required=False)
    key = _exact("Searched with key", length=16)
    degraded = forms.ChoiceField(
        label="Degraded",
        required=False,
        choices=[("", "Either"), ("yes", "Words only"), ("no", "With its vector")],
    )
    arm = forms.ChoiceField(
        label="Arm",
        required=False,
        choices=[("", "Any"), *((arm, ARMS[arm].label) for arm in Arm), (NO_ARM, "In none")],
    )
    since = forms.DateField(
        label="Since (UTC)",
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )


def narrow(rows: QuerySet[Recall], *, app_id: int, asked: dict[str, Any]) -> QuerySet[Recall]:
    """`asked`: the cleaned data of a valid form."""
    for name in ("session_id", "user_id"):
        if asked[name]:
            rows = rows.filter(**{name: asked[name]})
    if asked["key"]:
        rows = rows.filter(key_prefix=asked["key"])
    if asked["degraded"]:
        rows = rows.filter(degraded=asked["degraded"] == "yes")
    if asked["arm"]:
        rows = rows.filter(arm=None if asked["arm"] == NO_ARM else asked["arm"])
    if asked["since"]:
        rows = rows.filter(recalled_at__gte=datetime.combine(asked["since"], time(), tzinfo=UTC))
    if asked["episode"]:
        hits = RecallHit.objects.filter(app_id=app_id, episode_id=asked["episode"])
        rows = rows.filter(id__in=hits.values("recall_id"))
    return rows


def chips(asked: QueryDict) -> list[Chip]:
    """Return one for each value that narrows the log, in the order of the form."""
    found = []
    for name, field in RecallFilterForm.base_fields.items():
        value = asked.get(name, "")
        if value:
            spoken = dict(getattr(field, "choices", ())).get(value, value)
            found.append(Chip(_label(field), str(spoken), _without(asked, name)))
    return found


def _label(field: forms.Field) -> str:
    return str(field.label).removesuffix(" (UTC)")


def _without(asked: QueryDict, name: str) -> str:
    left = [(key, asked[key]) for key in asked if key not in {name, "page"} and asked[key]]
    return f"?{urlencode(left)}"
