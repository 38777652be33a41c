"""Importing the package registers every format."""

from __future__ import annotations

from episodes.ingest.formats import adk, episode, messages

__all__ = ["adk", "episode", "messages"]
