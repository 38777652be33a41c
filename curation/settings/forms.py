"""What an admin types or chooses on the settings pages, checked for shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.http import QueryDict

from curation import words
from curation.settings.words import RANKING, RULES, SCOPES, Constant, Group
from episodes.enums import KeyScope, Role
from episodes.ingest.whitelist import Rule
from episodes.keys.rotation import LONGEST_OVERLAP, OVERLAP
from memoryadmin.lib import clock


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A line of the editor as it was sent; `rule` is a key of RULES, or empty for none."""

    tool: str
    argument: str
    rule: str


@dataclass(slots=True)
class RulesForm:
    """The lines of the whitelist editor: three lists of one length, a line at each place."""

    rows: Sequence[RuleRow]
    seen: str
    errors: list[str] = field(default_factory=list)
    rules: dict[str, dict[str, Rule]] = field(default_factory=dict)

    @classmethod
    def read(cls, sent: QueryDict) -> RulesForm:
        columns = [sent.getlist(name) for name in ("tool", "argument", "rule")]
        rows = [RuleRow(t.strip(), a.strip(), r) for t, a, r in zip(*columns, strict=False)]
        form = cls(
            [row for row in rows if row.tool or row.argument or row.rule], sent.get("seen", "")
        )
        if len({len(column) for column in columns}) != 1:
            form.errors.append("The form was cut on its way. Load the page again.")
        for row in form.rows:
            form._take(row)
        return form

    def is_valid(self) -> bool:
        return not self.errors

    def _take(self, row: RuleRow) -> None:
        name = f"{row.tool or '…'} {row.argument or '…'}"
        if not row.rule:
            return
        if not row.tool or not row.argument:
            self.errors.append(f"{name}: a rule names a tool and an argument, or * for every one.")
        elif row.rule not in RULES:
            self.errors.append(f"{name}: there is no such rule.")
        elif row.argument in self.rules.get(row.tool, {}):
            self.errors.append(f"{name}: there are two rules for it.")
        else:
            self.rules.setdefault(row.tool, {})[row.argument] = RULES[row.rule].rule


class RankingForm(forms.Form):
    """Every constant of the rule; an empty threshold leaves it to the embedder."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for group in RANKING:
            for name, constant in group.constants.items():
                self.fields[name] = _number(constant)

    def groups(self) -> list[tuple[Group, list[forms.BoundField]]]:
        return [(group, [self[name] for name in group.constants]) for group in RANKING]


def _number(constant: Constant) -> forms.Field:
    said: dict[str, Any] = {
        "label": constant.label,
        "required": not constant.may_be_empty,
        "help_text": constant.help,
    }
    if constant.is_whole:
        return forms.IntegerField(
            min_value=int(constant.least), max_value=int(constant.most), **said
        )
    return forms.FloatField(min_value=constant.least, max_value=constant.most, **said)


class KeyForm(forms.Form):
    name = forms.CharField(label="Name", max_length=100)
    scopes = forms.MultipleChoiceField(
        label="May",
        choices=[(scope, SCOPES[scope]) for scope in KeyScope],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose what the key may do."},
    )
    expires_on = forms.DateField(
        label="Ends on (UTC)",
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    limit_per_minute = forms.IntegerField(
        label="Requests a minute, if not the installation's",
        min_value=1,
        max_value=1_000_000,
        required=False,
    )
    demands_subject_token = forms.BooleanField(required=False)

    def clean_expires_on(self) -> datetime | None:
        day = self.cleaned_data["expires_on"]
        if day is None:
            return None
        end = datetime(day.year, day.month, day.day, tzinfo=clock.now().tzinfo)
        if end <= clock.now():
            raise forms.ValidationError("This day has begun already.")
        return end


class LimitForm(forms.Form):
    """`seen`: the limit that the change is based on; empty: the installation's."""

    limit_per_minute = forms.IntegerField(
        label="Requests a minute", min_value=1, max_value=1_000_000, required=False
    )
    seen = forms.IntegerField(min_value=1, required=False, widget=forms.HiddenInput)


class RotateForm(forms.Form):
    overlap = forms.IntegerField(
        label="Hours that both work",
        min_value=0,
        max_value=int(LONGEST_OVERLAP / timedelta(hours=1)),
        initial=int(OVERLAP / timedelta(hours=1)),
    )
    reason = forms.CharField(label="Reason", max_length=500, required=False)

    def clean_overlap(self) -> timedelta:
        return timedelta(hours=self.cleaned_data["overlap"])


class ReasonForm(forms.Form):
    reason = forms.CharField(label="Reason", max_length=500, required=False)


def role_field() -> forms.ChoiceField:
    return forms.ChoiceField(label="Role", choices=[(role, words.ROLES[role]) for role in Role])


class RoleForm(forms.Form):
    role = role_field()


class MemberForm(forms.Form):
    """Names an account that exists; accounts are made by whoever runs the installation."""

    user_name = forms.CharField(label="User name", max_length=150)
    role = role_field()

    def clean_user_name(self) -> User:
        found = User.objects.filter(username=self.cleaned_data["user_name"], is_active=True).first()
        if found is None:
            raise forms.ValidationError("There is no such account, or it is switched off.")
        return found
