"""What somebody types who settles a hold or an alarm, or sets when they come about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from django import forms

from curation.models import FlagReason
from curation.saying import WORDS_LENGTH
from episodes.trust.rules import BOUNDS, TrustRules


class SettlingForm(forms.Form):
    reason = forms.CharField(
        max_length=WORDS_LENGTH,
        error_messages={"required": "Say in a few words what you saw."},
    )
    place = forms.ChoiceField(choices=[("episode", ""), ("queue", "")], required=False)
    # Where in the queue it was sent from.
    why = forms.CharField(max_length=20, required=False)
    page = forms.CharField(max_length=400, required=False)


class FlagForm(SettlingForm):
    code = forms.ChoiceField(
        choices=FlagReason.choices, error_messages={"required": "Choose what is wrong with it."}
    )


@dataclass(frozen=True, slots=True)
class Threshold:
    label: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    label: str
    help: str
    thresholds: Mapping[str, Threshold]


PARTS = {
    "shadow": Part(
        "Shadow recall",
        "A new episode is put before the latest questions and held if it would be first for an"
        " outsized share of them. Questions that ask the same count once.",
        {
            "is_on": Threshold("Hold such episodes"),
            "queries": Threshold("Questions", "the latest recalls, each wording once"),
            "pool": Threshold("Episodes to compare with", "the latest recallable"),
            "least_kinds": Threshold("Kinds of questions at least", "below, nothing is held"),
            "least_peers": Threshold("Other episodes at least", "below, nothing is held"),
            "least_first": Threshold("First for at least", "kinds of questions"),
            "least_share": Threshold("Share of the kinds at least", "0 to 1"),
            "above_peers": Threshold("Times what its peers reach", "one in a hundred of them"),
            "dominant_share": Threshold("Held above this share", "if no peer reaches as much"),
            "own_kinds": Threshold("The subject's own kinds at least"),
            "own_share": Threshold("Share of the subject's own", "0 to 1"),
        },
    ),
    "burst": Part(
        "Bursts",
        "Many alike of one subject and key within minutes, claimed to be successes. What the app has"
        " long done, or what somebody with authority called a success, is none.",
        {
            "is_on": Threshold("Hold such episodes"),
            "count": Threshold("How many alike"),
            "minutes": Threshold("Within minutes"),
            "alike": Threshold("Shared words of two goals", "0 to 1"),
        },
    ),
    "alarms": Part(
        "Alarms on live traffic",
        "They open an item in the queue. They block nothing.",
        {
            "is_on": Threshold("Raise alarms"),
            "share_days": Threshold("Share of recalls: days"),
            "share_recalls": Threshold("First for at least", "wordings"),
            "share_kinds": Threshold("Kinds of questions at least"),
            "share": Threshold("Share of the kinds", "0 to 1"),
            "harm_days": Threshold("Outcome after recall: days"),
            "harm_sessions": Threshold("Sessions at least", "whose end is known"),
            "harm_chance": Threshold("By chance at most", "over all episodes looked at"),
        },
    ),
}


class TrustForm(forms.Form):
    """Every threshold, each named `part.threshold`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        defaults = TrustRules()
        for part, described in PARTS.items():
            of_part = getattr(defaults, part)
            types = {one.name: one.type for one in fields(of_part)}
            for name, threshold in described.thresholds.items():
                self.fields[f"{part}.{name}"] = _field(
                    threshold, types[name], BOUNDS[part].get(name), getattr(of_part, name)
                )

    @classmethod
    def initial_of(cls, rules: TrustRules) -> dict[str, Any]:
        return {
            f"{part}.{name}": getattr(getattr(rules, part), name)
            for part, described in PARTS.items()
            for name in described.thresholds
        }

    def groups(self) -> list[tuple[Part, list[forms.BoundField]]]:
        return [
            (part, [self[f"{key}.{name}"] for name in part.thresholds])
            for key, part in PARTS.items()
        ]

    def rules(self) -> TrustRules:
        return TrustRules.from_json(
            {
                part: {name: self.cleaned_data[f"{part}.{name}"] for name in described.thresholds}
                for part, described in PARTS.items()
            }
        )


def _field(
    threshold: Threshold, kind: object, bounds: tuple[float, float] | None, default: object
) -> forms.Field:
    if kind == "bool" or bounds is None:
        return forms.BooleanField(label=threshold.label, required=False)
    low, high = bounds
    told = f"{threshold.help}, " if threshold.help else ""
    help_text = f"{told}usually {default:g}"
    if kind == "int":
        return forms.IntegerField(
            label=threshold.label, min_value=int(low), max_value=int(high), help_text=help_text
        )
    return forms.FloatField(
        label=threshold.label, min_value=low, max_value=high, help_text=help_text
    )
