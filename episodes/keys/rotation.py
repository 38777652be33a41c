"""Rotating an API key: another one takes its place, and both work for a while."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from episodes import audit
from episodes.audit import Actor
from episodes.keys.issuing import KeyEndedError, issue_key
from episodes.models import ApiKey
from memoryadmin.lib import clock

OVERLAP = timedelta(hours=24)
LONGEST_OVERLAP = timedelta(days=30)


class AlreadyRotatedError(Exception):
    """Another key has taken its place; that one is rotated instead."""


class OverlapError(ValueError):
    """Both keys work together for LONGEST_OVERLAP at most, and not for less than no time."""


@transaction.atomic
def rotate_key(
    *, key: ApiKey, actor: Actor, overlap: timedelta = OVERLAP, reason: str = ""
) -> tuple[ApiKey, str]:
    """Issue a key that is and may what `key` is and may; return it with its text, seen only now.

    The old one ends by itself after `overlap`, or when it would have ended anyway. A key that was
    to live for a time lives for the same time again. Raises OverlapError, KeyEndedError,
    AlreadyRotatedError.
    """
    if not timedelta(0) <= overlap <= LONGEST_OVERLAP:
        raise OverlapError(overlap)
    now = clock.now()
    old = ApiKey.objects.select_for_update(no_key=True).get(pk=key.pk)
    if old.has_ended(now):
        raise KeyEndedError(old.prefix)
    if ApiKey.objects.filter(predecessor=old).exists():
        raise AlreadyRotatedError(old.prefix)
    before = old.expires_at
    old.expires_at = min(before or now + overlap, now + overlap)
    old.save(update_fields=["expires_at"])
    new, raw = issue_key(
        app=old.app,
        name=old.name,
        scopes=old.scopes,
        expires_at=now + (before - old.created_at) if before else None,
        limit_per_minute=old.limit_per_minute,
        demands_subject_token=old.demands_subject_token,
        predecessor=old,
        actor=actor,
    )
    audit.record(
        actor=actor,
        verb="key.rotated",
        target_kind="api_key",
        target_id=old.pk,
        app=old.app,
        reason=reason,
        before={"expires_at": _said(before)},
        after={"expires_at": _said(old.expires_at), "prefix": old.prefix, "successor": new.prefix},
    )
    return new, raw


def _said(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds") if moment else None
