"""What was held for a person: released into recall, or kept out of it.

The hold is the screen's, or shadow.py's or burst.py's of episodes/trust/; whoever settles it has read
the text. Both acts close the hold and nothing else; a flag or another block stays.
"""

from __future__ import annotations

from django.db import transaction

from curation.saying import kept_words
from episodes import lifecycle
from episodes.audit import Actor
from episodes.enums import BlockKind
from episodes.models import Block, Episode

# The reason of the block that takes a hold's place.
KEPT_OUT = "kept_out"


class NotAHoldError(Exception):
    """The block is not one that waits for a person, nor one that took such a one's place."""


class AlreadySettledError(Exception):
    """Somebody has released it or kept it out before."""


def is_hold(block: Block) -> bool:
    return block.kind == BlockKind.HELD or is_kept_out(block)


def is_kept_out(block: Block) -> bool:
    return block.kind == BlockKind.QUARANTINE and block.reason == KEPT_OUT


@transaction.atomic
def release_hold(*, block: Block, actor: Actor, reason: str) -> None:
    """Let what was held, or kept out, be recalled from now on unless something else blocks it.

    Raises NotAHoldError, AlreadySettledError, NothingKeptError, SubjectErasedError.
    """
    said = _said(block, reason)
    if not lifecycle.lift_block(block=block, actor=actor, reason=said):
        raise AlreadySettledError(str(block.id))


@transaction.atomic
def keep_out(*, block: Block, actor: Actor, reason: str) -> Block:
    """Keep what was held out of recall for good, until somebody releases it after all.

    Raises what release_hold raises.
    """
    said = _said(block, reason)
    if block.kind != BlockKind.HELD:
        raise NotAHoldError(str(block.id))
    # first the new block, so that there is no moment between the two
    kept = lifecycle.block_episode(
        episode=Episode(id=block.episode_id, app_id=block.app_id),
        kind=BlockKind.QUARANTINE,
        revision=block.revision,
        reason=KEPT_OUT,
        figures=block.figures,
        actor=actor,
    )
    if not lifecycle.lift_block(block=block, actor=actor, reason=said):
        raise AlreadySettledError(str(block.id))
    return kept


def _said(block: Block, reason: str) -> str:
    if not is_hold(block):
        raise NotAHoldError(str(block.id))
    return kept_words(app_id=block.app_id, user_id=block.user_id, words=reason)
