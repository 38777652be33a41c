"""What compliance types to place or lift a hold, checked for shape."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any

from django import forms

from curation.incidents.hold_words import KINDS
from episodes.enums import HoldKind
from episodes.holds import REASON_LENGTH


class HoldForm(forms.Form):
    kind = forms.ChoiceField(
        label="On",
        choices=[(kind, word.label) for kind, word in KINDS.items()],
        initial=HoldKind.SUBJECT,
    )
    # ids are compared by equality: spaces count
    target_id = forms.CharField(label="Its id", max_length=256, strip=False)
    user_id = forms.CharField(label="Subject", max_length=256, required=False, strip=False)
    reason = forms.CharField(
        label="Reason",
        max_length=REASON_LENGTH,
        widget=forms.Textarea,
        error_messages={"required": "Say why."},
    )
    until = forms.DateField(
        label="Last day (UTC); empty: until it is lifted",
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        input_formats=["%Y-%m-%d"],
        error_messages={"invalid": "Write the day like 2026-05-31."},
    )

    def clean_until(self) -> datetime | None:
        """Return the end of that day."""
        last: Any = self.cleaned_data["until"]
        if last is None:
            return None
        if last.year >= 9999:  # no day comes after the last one
            raise forms.ValidationError("That is too far ahead.")
        return datetime.combine(last + timedelta(days=1), time.min, tzinfo=UTC)


class LiftForm(forms.Form):
    reason = forms.CharField(
        label="Reason", max_length=REASON_LENGTH, error_messages={"required": "Say why."}
    )
