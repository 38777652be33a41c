"""What a curator types or chooses about a precedent, checked for shape."""

from __future__ import annotations

from collections.abc import Iterable

from django import forms
from django.http import QueryDict

from curation.promotion.proposing import LENGTHS
from curation.saying import WORDS_LENGTH
from episodes.ingest.evidence import SUMMARY_LENGTH

TEXT, LEFT_OUT = "text:", "left_out"


class ProposalForm(forms.Form):
    as_warning = forms.BooleanField(required=False)
    supersedes = forms.UUIDField(required=False)


class _SeenForm(forms.Form):
    """Every act names the version of the precedent that was read."""

    seen = forms.IntegerField(min_value=1, max_value=2**31 - 1)


class DraftForm(_SeenForm):
    """The texts of a draft, each in a field of its own, and arguments to be left out."""

    def __init__(self, data: QueryDict) -> None:
        super().__init__(data)
        self.texts = {
            name.removeprefix(TEXT): text.replace("\r\n", "\n")
            for name, text in data.items()
            if name.startswith(TEXT) and isinstance(text, str)
        }
        self.left_out = data.getlist(LEFT_OUT)

    def clean(self) -> None:
        for field, text in self.texts.items():
            if len(text) > LENGTHS.get(field, SUMMARY_LENGTH):
                raise forms.ValidationError("A text is longer than it may be.")
        if not self.texts.get("goal", " ").strip() and "goal" in self.texts:
            raise forms.ValidationError("A precedent needs a goal.")


class ApprovalForm(_SeenForm):
    override = forms.CharField(max_length=WORDS_LENGTH, required=False)
    accepted_because = forms.CharField(max_length=WORDS_LENGTH, required=False)

    def __init__(self, data: QueryDict) -> None:
        super().__init__(data)
        self.accepted = data.getlist("accepted")


class EndForm(_SeenForm):
    reason = forms.CharField(
        max_length=WORDS_LENGTH, error_messages={"required": "Say in a few words why."}
    )


class OfferForm(_SeenForm):
    """`apps`: the names of those that one may offer to."""

    to = forms.ChoiceField(error_messages={"required": "Choose an app."})

    def __init__(self, data: QueryDict, *, apps: Iterable[str]) -> None:
        super().__init__(data)
        field = self.fields["to"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101  (tells mypy)
        field.choices = [(name, name) for name in apps]


class LessonForm(forms.Form):
    reason = forms.CharField(
        max_length=WORDS_LENGTH, error_messages={"required": "Say in a few words why."}
    )
