"""Which episodes a person takes along."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from django import forms

from curation import words
from episodes.enums import Outcome
from episodes.export.wanted import Wanted


def _day(label: str) -> forms.DateField:
    widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    return forms.DateField(label=label, required=False, widget=widget)


class ExportForm(forms.Form):
    """A subject is compared by equality: spaces count."""

    user_id = forms.CharField(
        label="Subject (user_id); empty: all of them", max_length=256, required=False, strip=False
    )
    outcome = forms.MultipleChoiceField(
        label="Outcome; none: whatever it is",
        choices=[(name.value, words.OUTCOMES[name].label) for name in Outcome],
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    since = _day("Completed since (UTC)")
    until = _day("Completed before (UTC)")
    blocked = forms.ChoiceField(
        label="Kept out of recall",
        choices=[("", "Take it along, marked"), ("no", "Leave it out"), ("yes", "Only that")],
        required=False,
    )

    def wanted(self) -> Wanted:
        """Of a valid form."""
        said: dict[str, Any] = self.cleaned_data
        return Wanted(
            user_id=said["user_id"] or None,
            outcome=tuple(said["outcome"]),
            since=_midnight(said["since"]),
            until=_midnight(said["until"]),
            blocked={"yes": True, "no": False}.get(said["blocked"]),
        )


def _midnight(day: date | None) -> datetime | None:
    return None if day is None else datetime(day.year, day.month, day.day, tzinfo=UTC)
