"""What accounts leave behind once its time is up. Rung by beat; nothing depends on it."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db.models import Q

from episodes.accounts.throttle import purge_forgotten
from episodes.models import ConsoleSession
from memoryadmin.lib import clock


def purge_accounts() -> int:
    """Delete sessions that are over and tries that are forgotten; return how many rows."""
    now = clock.now()
    oldest = now - timedelta(seconds=settings.SESSION_COOKIE_AGE)
    over = ConsoleSession.objects.filter(Q(expire_date__lte=now) | Q(began_at__lte=oldest))
    return over.delete()[0] + purge_forgotten()
