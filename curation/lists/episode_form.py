"""The filters of the list of episodes, checked for shape."""

from __future__ import annotations

from django import forms

from curation import words
from episodes.enums import Outcome, OutcomeSource, ReviewState

NOBODY = "none"
STATES = (
    ("open", "Open"),
    ("completed", "Completed"),
    ("recallable", "Recallable"),
    ("blocked", "Blocked"),
    ("held", "Held"),
    ("newer_held", "Held in a newer revision"),
    ("quarantined", "Quarantined"),
    ("pending", "Waiting for its vector"),
    ("contradicted", "Contradicted"),
)
SORTS = (("received", "Newest received"), ("completed", "Newest completed"))


class _Exact(forms.CharField):
    """An id or a name, compared by equality: spaces count."""

    def __init__(self, label: str, *, length: int = 256) -> None:
        super().__init__(label=label, max_length=length, required=False, strip=False)


class _Several(forms.MultipleChoiceField):
    def __init__(self, label: str, choices: list[tuple[str, str]]) -> None:
        super().__init__(
            label=label, choices=choices, required=False, widget=forms.CheckboxSelectMultiple
        )


class _Day(forms.DateField):
    def __init__(self, label: str) -> None:
        widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
        super().__init__(label=label, required=False, widget=widget)


class EpisodeFilterForm(forms.Form):
    """The filters of the list of episodes, by the names they have in its address."""

    q = forms.CharField(label="Search", max_length=500, required=False)
    outcome = _Several("Outcome", [(name, words.OUTCOMES[name].label) for name in Outcome])
    verified = forms.ChoiceField(
        label="Verified",
        required=False,
        choices=[("", "Either"), ("yes", "Verified"), ("no", "Not verified")],
    )
    source = _Several(
        "Source",
        [(name, words.SOURCES[name].label) for name in OutcomeSource]
        + [(NOBODY, words.NOBODY.label)],
    )
    review = _Several("Review", [(name, words.REVIEWS[name].label) for name in ReviewState])
    state = forms.ChoiceField(label="State", required=False, choices=[("", "Any state"), *STATES])
    tool = _Exact("Tool", length=128)
    error = _Exact("Error code", length=128)
    user_id = _Exact("Subject")
    session_id = _Exact("Session")
    task_id = _Exact("Task")
    agent_id = _Exact("Agent")
    issue_type = _Exact("Issue type", length=128)
    tag = _Exact("Tag", length=64)
    toolset = _Exact("Toolset", length=128)
    procedure = _Exact("Procedure", length=64)
    key = _Exact("Written with key", length=16)
    since = _Day("Completed since (UTC)")
    until = _Day("Completed before (UTC)")
    sort = forms.ChoiceField(label="Order", required=False, choices=SORTS)
