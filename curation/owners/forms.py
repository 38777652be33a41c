"""Where an owner is told, checked for shape."""

from __future__ import annotations

from django import forms

from curation.owners.hooks import URL_LENGTH


class HookForm(forms.Form):
    """`seen`: the address that the change is based on."""

    url = forms.CharField(label="Address", max_length=URL_LENGTH, required=False)
    seen = forms.CharField(max_length=URL_LENGTH, required=False)
