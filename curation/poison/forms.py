"""What a curator types or chooses about poison, checked for shape."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms

from curation.lists.paging import PAGE
from curation.models import Extent, FlagReason
from curation.poison.flagging import Choice
from curation.poison.words import REASONS, FlagState
from curation.saying import WORDS_LENGTH
from episodes.reach import MAX_DEPTH


class FlagForm(forms.Form):
    reason = forms.TypedChoiceField(
        choices=[(code, word.label) for code, word in REASONS.items()],
        coerce=FlagReason,
        error_messages={"required": "Choose what is wrong with it."},
    )
    note = forms.CharField(
        label="What shows it",
        max_length=WORDS_LENGTH,
        error_messages={"required": "Say in a few words what shows it."},
    )


class LiftForm(forms.Form):
    reason = forms.CharField(
        label="Why is it lifted?",
        max_length=WORDS_LENGTH,
        error_messages={"required": "Say in a few words why."},
    )


class _Ticked(forms.Field):
    """The ids of what was ticked: a page of it at most."""

    widget = forms.MultipleHiddenInput

    def clean(self, value: list[str] | None) -> frozenset[UUID]:
        try:
            return frozenset(UUID(one) for one in (value or [])[:PAGE])
        except ValueError as error:
            raise forms.ValidationError("What was ticked is no episode.") from error


class ClosureForm(forms.Form):
    """`seen` and `n_seen`: the previewed reach, as a digest and as a number. Everything is
    chosen without naming it."""

    seen = forms.RegexField(r"\A[0-9a-f]{64}\Z")
    n_seen = forms.IntegerField(min_value=0)
    extent = forms.ChoiceField(choices=Extent.choices)
    depth = forms.IntegerField(min_value=1, max_value=MAX_DEPTH, required=False)
    episode = _Ticked(required=False)
    reason = forms.CharField(
        label="Why",
        max_length=WORDS_LENGTH,
        error_messages={"required": "Say in a few words why."},
    )

    def clean(self) -> dict[str, Any]:
        said = self.cleaned_data
        if said.get("extent") == Extent.PART and not said.get("episode"):
            self.add_error("extent", "Tick at least one episode, or choose more than a part.")
        if said.get("extent") == Extent.DEPTH and not said.get("depth"):
            self.add_error("extent", "Say up to which depth.")
        return said

    @property
    def choice(self) -> Choice:
        said = self.cleaned_data
        match said["extent"]:
            case Extent.PART:
                return Choice(episode_ids=said["episode"])
            case Extent.DEPTH:
                return Choice(depth=said["depth"])
        return Choice()


def asked_state(text: str) -> FlagState | None:
    return FlagState(text) if text in set(FlagState) else None


def asked_depth(text: str) -> int | None:
    return int(text) if text in {str(n) for n in range(1, MAX_DEPTH + 1)} else None
