"""What an investigator types or chooses, checked for shape."""

from __future__ import annotations

from datetime import UTC, datetime

from django import forms

from curation.incidents import words
from curation.incidents.working import TEXT_LENGTH, TITLE_LENGTH
from curation.models import IncidentState, LinkKind, Severity, SourceKind
from curation.saying import WORDS_LENGTH


def _exact(label: str, *, required: bool = False) -> forms.CharField:
    """An id, compared by equality: spaces count."""
    return forms.CharField(label=label, max_length=256, required=required, strip=False)


class OpenForm(forms.Form):
    title = forms.CharField(label="Title", max_length=TITLE_LENGTH)
    description = forms.CharField(
        label="What is known", max_length=TEXT_LENGTH, required=False, widget=forms.Textarea
    )
    severity = forms.ChoiceField(
        label="Severity",
        choices=[(one, words.SEVERITIES[one].label) for one in Severity],
        initial=Severity.MEDIUM,
    )
    source_kind = forms.ChoiceField(
        label="Starts from",
        choices=[(one, words.SOURCES[one]) for one in SourceKind],
        initial=SourceKind.DESCRIPTION,
    )
    source_id = _exact("Id of the session, recall or episode")
    user_id = _exact("Subject")


class NoteForm(forms.Form):
    text = forms.CharField(
        label="Note",
        max_length=TEXT_LENGTH,
        widget=forms.Textarea,
        error_messages={"required": "Write something."},
    )


class StateForm(forms.Form):
    state = forms.ChoiceField(choices=[(one, words.STATES[one].label) for one in IncidentState])
    reason = forms.CharField(
        label="Reason", max_length=WORDS_LENGTH, error_messages={"required": "Say why."}
    )
    seen = forms.IntegerField(min_value=0)


class PersonForm(forms.Form):
    name = forms.CharField(label="Member", max_length=150)


class LinkForm(forms.Form):
    kind = forms.ChoiceField(
        label="What", choices=[(one, words.LINKS[one].label) for one in LinkKind]
    )
    target_id = _exact("Its id", required=True)
    user_id = _exact("Subject, if sessions of several have this name")


class MomentForm(forms.Form):
    """A time in UTC, as a field of the browser sends it; empty: the time of the recall."""

    recall = forms.UUIDField(required=False)
    at = forms.DateTimeField(
        label="As of (UTC)",
        required=False,
        input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"],
        error_messages={"invalid": "Write the time like 2026-05-31T12:00."},
    )

    def clean_at(self) -> datetime | None:
        at: datetime | None = self.cleaned_data["at"]
        if at and not 1970 <= at.year < 9999:
            raise forms.ValidationError("No search can have been at that time.")
        return at.replace(tzinfo=UTC) if at else None
