"""What a reviewer types or chooses, checked for shape."""

from __future__ import annotations

from django import forms

from curation import words
from curation.review.deciding import BadSeenError, Seen
from curation.review.queue import Place, Why
from curation.saying import WORDS_LENGTH
from episodes.enums import Outcome
from memoryadmin.lib.cursors import BadCursorError

# The key of each outcome is its place here; unknown is last, because it decides least.
OUTCOME_KEYS = (
    Outcome.SUCCESS,
    Outcome.PARTIAL,
    Outcome.FAILURE,
    Outcome.ESCALATED,
    Outcome.ABANDONED,
    Outcome.UNKNOWN,
)


class _OnwardForm(forms.Form):
    """Every act says where in the queue it happened, so that the next item can be shown."""

    place = forms.CharField(required=False, max_length=300)
    why = forms.CharField(required=False, max_length=20)
    page = forms.CharField(required=False, max_length=300)

    def clean_place(self) -> Place | None:
        """A place that was cut only costs the way to the next item, never the decision."""
        try:
            return Place.read(self.cleaned_data["place"])
        except BadCursorError:
            return None

    def clean_why(self) -> Why | None:
        return asked_why(self.cleaned_data["why"])


class _JudgingForm(_OnwardForm):
    seen = forms.CharField(max_length=40)
    reason = forms.CharField(
        max_length=WORDS_LENGTH,
        error_messages={"required": "Say in a few words what shows it."},
    )

    def clean_seen(self) -> Seen:
        try:
            return Seen.read(self.cleaned_data["seen"])
        except BadSeenError as error:
            raise forms.ValidationError("What was seen is not said.") from error


class DecisionForm(_JudgingForm):
    outcome = forms.ChoiceField(
        choices=[(name, words.OUTCOMES[name].label) for name in OUTCOME_KEYS],
        error_messages={"required": "Choose how it ended."},
    )
    settles = forms.BooleanField(required=False)


class AcceptanceForm(_JudgingForm):
    feedback = forms.UUIDField()


class UndoForm(_OnwardForm):
    entry = forms.UUIDField()
    reason = forms.CharField(required=False, max_length=WORDS_LENGTH)


def asked_why(text: str) -> Why | None:
    return Why(text) if text in set(Why) else None
