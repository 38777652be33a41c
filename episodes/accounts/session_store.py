"""Sessions of the console: in the database, each with whose it is (settings.SESSION_ENGINE).

A session ends when it was idle for SESSION_IDLE_SECONDS, SESSION_COOKIE_AGE after signing in, or at
once when its row is deleted: every process reads it anew with each request, and a request that is
under way cannot write it back (Django saves a session only over one that is there).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore

from episodes.models import ConsoleSession
from memoryadmin.lib import clock

# A session's end moves on when this part of its idle time is over: not every page view is worth a
# write, and two hours of it may as well be an hour and three quarters.
MOVES_ON = 1 / 8
BEGAN = "_began"


class SessionStore(DatabaseStore):
    @classmethod
    def get_model_class(cls) -> type[ConsoleSession]:
        return ConsoleSession

    def _get_session_from_db(self) -> ConsoleSession | None:
        now = clock.now()
        oldest = now - timedelta(seconds=settings.SESSION_COOKIE_AGE)
        found = ConsoleSession.objects.filter(
            session_key=self.session_key, expire_date__gt=now, began_at__gt=oldest
        ).first()
        if found is None:
            self._session_key = None
            return None
        idle = timedelta(seconds=settings.SESSION_IDLE_SECONDS)
        until = now + idle
        if until - found.expire_date >= idle * MOVES_ON:
            ConsoleSession.objects.filter(pk=found.pk).update(expire_date=until)
        return found

    def create_model_instance(self, data: dict[str, Any]) -> ConsoleSession:
        now = clock.now()
        account = data.get(SESSION_KEY)
        began = now.timestamp()
        if account is not None:
            # `data` is what is kept; saving a session again must not make it younger
            began = data.setdefault(BEGAN, began)
        return ConsoleSession(
            session_key=self._get_or_create_session_key(),  # type: ignore[attr-defined]  # Django's
            session_data=self.encode(data),
            expire_date=now + timedelta(seconds=settings.SESSION_IDLE_SECONDS),
            user_id=int(account) if account is not None else None,
            began_at=datetime.fromtimestamp(began, UTC),
        )
