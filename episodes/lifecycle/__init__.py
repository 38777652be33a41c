"""The only writer of an episode's state. Every function is one transaction, under the head's row
lock, with the entry, interval and audit rows that justify the new state.

Whoever calls these owns the reason; search reads nothing but the head that they keep.
"""

from __future__ import annotations

from episodes.lifecycle.blocks import block_episode, lift_block
from episodes.lifecycle.changes import block_episodes, lift_change
from episodes.lifecycle.evidence import (
    complete_episode,
    note_progress,
    record_evidence,
    serve_revision,
)
from episodes.lifecycle.head import is_held, lock_head
from episodes.lifecycle.outcomes import Statement, retract_outcome, state_outcome
from episodes.lifecycle.promotion import note_promotion, withdraw_episode

__all__ = [
    "Statement",
    "block_episode",
    "block_episodes",
    "complete_episode",
    "is_held",
    "lift_block",
    "lift_change",
    "lock_head",
    "note_progress",
    "note_promotion",
    "record_evidence",
    "retract_outcome",
    "serve_revision",
    "state_outcome",
    "withdraw_episode",
]
