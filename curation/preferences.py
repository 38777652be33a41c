"""How a person wants the console to look: kept in cookies, so that it needs no account or script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from django import forms

THEMES = ("system", "light", "dark")
THEME, ZONE, KEYS = "console_theme", "console_zone", "console_keys"
# What the browser says its zone is (static/js/times.js). A zone that was chosen stands above it.
ZONE_SEEN = "console_zone_seen"
KEPT_SECONDS = 365 * 24 * 3600
UTC_NAME = "UTC"


@dataclass(frozen=True, slots=True)
class Preferences:
    theme: str
    zone: ZoneInfo
    zone_is_chosen: bool
    keys: bool  # whether single keys act


def read_preferences(cookies: Mapping[str, str]) -> Preferences:
    """Return what the cookies say; anything odd in them counts as not said."""
    theme, chosen = cookies.get(THEME, ""), cookies.get(ZONE, "")
    seen = cookies.get(ZONE_SEEN, "")
    known = zones()
    name = next((name for name in (chosen, seen) if name in known), UTC_NAME)
    return Preferences(
        theme=theme if theme in THEMES else THEMES[0],
        zone=ZoneInfo(name),
        zone_is_chosen=chosen in known,
        keys=cookies.get(KEYS) != "off",
    )


@lru_cache(maxsize=1)
def zones() -> frozenset[str]:
    """Return the zones people live in, and UTC: no aliases such as `posix/…` or `EST5EDT`."""
    return frozenset(
        name
        for name in available_timezones()
        if name == UTC_NAME or ("/" in name and not name.startswith(("Etc/", "SystemV/", "US/")))
    )


class PreferencesForm(forms.Form):
    """Each field may be sent alone; `keys` is "on" or "off"."""

    theme = forms.ChoiceField(required=False, choices=[(name, name.title()) for name in THEMES])
    zone = forms.CharField(required=False, max_length=64)
    keys = forms.ChoiceField(required=False, choices=[("on", "On"), ("off", "Off")])

    def clean_zone(self) -> str:
        zone: str = self.cleaned_data["zone"]
        if zone and zone not in zones():
            raise forms.ValidationError("This is no time zone that we know.")
        return zone
