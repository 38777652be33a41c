"""Accounts of the console: who can sign in, how, and until when.

What a person may do in an app is episodes/members.py.
"""

from __future__ import annotations

from episodes.accounts.creating import (
    AccountExistsError,
    BadAccountNameError,
    WeakPasswordError,
    check_new_password,
    create_account,
    has_account,
)

__all__ = [
    "AccountExistsError",
    "BadAccountNameError",
    "WeakPasswordError",
    "check_new_password",
    "create_account",
    "has_account",
]
