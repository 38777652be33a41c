"""Whose rows this thread's connection may touch while it answers a request of the API.

The statement that looks a key up also takes on the role `memoryadmin_api` and says which app the key
is of; row_security.py has the policies that bind this role, and no other. The role is given back when
the view has ended, whatever became of it. What was said of app and subject stays behind and means
nothing: only that role is asked, and who takes it on says both anew.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import psycopg
from django.db import connection
from psycopg.pq import TransactionStatus

from memoryadmin.lib.roles import API

APP_SETTING = "memoryadmin.app"
SUBJECT_SETTING = "memoryadmin.subject"
ANY_SUBJECT = ""  # which is no subject's id

# Columns of the statement that takes the role on. The role before is read where it is still that one:
# in a CTE, and not in the same list.
ROLE_BEFORE = "current_setting('role')"
TAKE_ON = (
    f"set_config('{APP_SETTING}', {{app}}::text, false),"
    f" set_config('{SUBJECT_SETTING}', '{ANY_SUBJECT}', false), set_config('role', '{API}', false)"
)
# For one transaction, in a search: also for whoever is not bound, since a view compares the app.
OF_SEARCH = (
    f"set_config('{APP_SETTING}', %(app)s::text, true),"
    f" set_config('{SUBJECT_SETTING}', %(subject)s, true)"
)
_AGAIN = f"SELECT {ROLE_BEFORE}, {TAKE_ON.format(app='%(app)s')}"
_SUBJECT = f"SELECT set_config('{SUBJECT_SETTING}', %s, false)"
_GIVE_BACK = "SELECT set_config('role', %s, false)"


class NoRequestError(Exception):
    """Nobody would give the role back."""


class _Request:
    """What a request has taken on. `before`: the role to give back."""

    before: str | None = None
    is_sent: bool = False  # the role may have been taken on
    app_id: int | None = None
    subject: str = ANY_SUBJECT


class _Thread(threading.local):
    request: _Request | None = None


_thread = _Thread()


@contextmanager
def one_request() -> Iterator[None]:
    """Give back at the end what is taken on inside. A request within another one leaves the outer
    one as it was."""
    outer, _thread.request = _thread.request, _Request()
    try:
        yield
    finally:
        ended, _thread.request = _thread.request, outer
        if ended is not None and ended.is_sent:
            _give_back(ended.before)


def expect() -> None:
    """Note that the role is about to be taken on, before the statement is sent."""
    _request().is_sent = True


def took_on(*, before: str, app_id: int) -> None:
    request = _request()
    request.before, request.app_id = before, app_id


def took_nothing_on() -> None:
    _request().is_sent = False


def show_only(subject: str) -> None:
    """Leave the rest of the request the rows of the subject and of the organisation.

    For what only reads: to judge a write, rows of other subjects are compared.
    """
    if subject == ANY_SUBJECT:
        raise ValueError("a subject has an id")
    request = _request()
    psycopg.Cursor(connection.connection).execute(_SUBJECT, [subject])
    request.subject = subject


def lasting(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Return the stream of an answer that is read when the request's view has ended."""
    request = _request()
    return _streamed(chunks, request) if request.app_id is not None else iter(chunks)


def _streamed(chunks: Iterable[bytes], request: _Request) -> Iterator[bytes]:
    with one_request():
        expect()
        connection.ensure_connection()
        cursor = psycopg.Cursor(connection.connection)
        [before, *_] = cursor.execute(_AGAIN, {"app": request.app_id}).fetchone() or [""]
        took_on(before=before, app_id=request.app_id or 0)
        if request.subject != ANY_SUBJECT:
            show_only(request.subject)
        yield from chunks


def _request() -> _Request:
    if _thread.request is None:
        raise NoRequestError
    return _thread.request


def _give_back(before: str | None) -> None:
    own: psycopg.Connection[object] | None = connection.connection
    if own is None:
        return  # a new one begins without the role
    failed = own.info.transaction_status == TransactionStatus.INERROR
    if failed and connection.in_atomic_block:
        return  # the rollback of what surrounds the request takes it back
    try:
        if before is None:  # broken off between asking and the answer
            raise psycopg.InterfaceError
        psycopg.Cursor(own).execute(_GIVE_BACK, [before], prepare=True)
    except psycopg.Error:
        connection.close()
