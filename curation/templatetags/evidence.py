"""What the evidence document needs: it has no viewer, so that every time is in UTC."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django import template

register = template.Library()


@register.filter
def utc(written: str | None) -> str:
    """A time of an item as it is read: to the second, in UTC."""
    if not written:
        return "\N{EN DASH}"
    return f"{datetime.fromisoformat(written).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


@register.filter
def three(value: float | None) -> str:
    return "\N{EN DASH}" if value is None else f"{value:.3f}"


@register.filter
def pairs(named: Mapping[str, Any] | None) -> list[tuple[str, Any]]:
    """Names with their values. In a template `arguments.items` would be an argument of that name."""
    return list((named or {}).items())
