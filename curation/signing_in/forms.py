"""What people type about their accounts, checked for shape."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.models import User

from curation.settings.forms import role_field

_LONGEST_PASSWORD = 1_000  # longer ones only cost time


def _password(label: str) -> forms.CharField:
    return forms.CharField(
        label=label, max_length=_LONGEST_PASSWORD, strip=False, widget=forms.PasswordInput
    )


class SignInForm(forms.Form):
    username = forms.CharField(label="User name", max_length=150)
    password = _password("Password")

    def clean_username(self) -> str:
        # as it was when the account was made: keyboards spell one letter in several ways
        return str(User.normalize_username(self.cleaned_data["username"]))


class CodeForm(forms.Form):
    """Six digits, or a recovery code; blanks that an app shows between digits are no part of it."""

    code = forms.CharField(label="Code", max_length=40)

    def clean_code(self) -> str:
        return "".join(str(self.cleaned_data["code"]).split())


class _TwiceForm(forms.Form):
    """A new password, typed twice."""

    new = _password("New password")
    again = _password("The same again")

    def clean(self) -> dict[str, Any]:
        sent = super().clean() or {}
        if "new" in sent and "again" in sent and sent["new"] != sent["again"]:
            self.add_error("again", "The two are not the same.")
        return sent


class PasswordForm(_TwiceForm):
    old = _password("Password until now")
    field_order = ("old", "new", "again")


class JoinForm(_TwiceForm):
    """Whoever was invited makes an account."""

    name = forms.CharField(label="User name", max_length=150)
    field_order = ("name", "new", "again")


class InvitationForm(forms.Form):
    name = forms.CharField(label="Name", max_length=150)
    email = forms.EmailField(label="E-mail (a note, nothing is sent)", required=False)
    role = role_field()
