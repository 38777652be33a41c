"""Refusals that more than one entry point has to tell a caller."""

from __future__ import annotations


class SubjectErasedError(Exception):
    """The subject was erased; late writes are refused (410 `subject_erased`)."""


class FeedbackNotAllowedError(Exception):
    """An exported session brings feedback, and the caller may not give any (403)."""


class AlreadyRetractedError(Exception):
    """The outcome entry has been taken back before."""


class NotRetractableError(Exception):
    """A retraction is not taken back; the outcome is stated anew."""


class AuditOutsideTransactionError(RuntimeError):
    """An audit row must be written in the transaction of the change that it records."""
