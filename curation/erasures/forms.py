"""What is typed to erase a subject, or to let one in again."""

from __future__ import annotations

from typing import Any

from django import forms

from episodes.erasure.request import REASON_LENGTH


class SubjectForm(forms.Form):
    """An id is compared by equality: spaces count."""

    user_id = forms.CharField(label="Subject (user_id)", max_length=256, strip=False)
    reason = forms.CharField(label="Reason", max_length=REASON_LENGTH)


class EraseForm(SubjectForm):
    """The id is typed a second time: what is deleted does not come back."""

    confirmation = forms.CharField(
        label="Type the id again to erase it", max_length=256, strip=False, required=False
    )

    def clean(self) -> dict[str, Any]:
        said: dict[str, Any] = super().clean() or {}
        if "user_id" in said and said.get("confirmation") != said["user_id"]:
            self.add_error("confirmation", "This is not the id above, letter by letter.")
        return said
