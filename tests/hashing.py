"""Passwords of tests, hashed by the program's own algorithm in one round instead of a million.

A process that a test starts reads such a hash like any other: the rounds stand in it.
"""

from __future__ import annotations

from django.contrib.auth.hashers import PBKDF2PasswordHasher


class OneRound(PBKDF2PasswordHasher):
    iterations = 1
