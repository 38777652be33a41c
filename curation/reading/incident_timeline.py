"""What happened, in order: to the runs and precedents of an incident, and in the incident itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from curation import words
from curation.incidents.words import EVENTS, LINKS, STATES
from curation.models import EventKind, IncidentEvent, IncidentState, LinkKind
from curation.reading.incident_backwards import Backwards
from curation.reading.incidents import IncidentPage
from curation.words import Word
from episodes.enums import BlockKind, Outcome
from episodes.models import Member, OutcomeEntry

MOST = 300


@dataclass(frozen=True, slots=True)
class Moment:
    """`what` is ours; `text` and `name` come from a trace or a person. `link`: a kind of page and
    an id, or empty."""

    at: datetime
    word: Word
    what: str
    by: str = ""
    name: str = ""
    text: str = ""
    link: tuple[str, str] = ("", "")
    is_ours: bool = False


def read_timeline(
    *, member: Member, page: IncidentPage, backwards: Backwards
) -> tuple[Sequence[Moment], bool]:
    """Return the last moments, oldest first, and whether there were more. One query."""
    moments = [
        *_of_runs(backwards),
        *_of_precedents(backwards),
        *_of_what_was_said(member, backwards),
        *(_of_event(event) for event in page.events),
    ]
    moments.sort(key=lambda one: one.at)
    return moments[-MOST:], len(moments) > MOST


def _of_runs(backwards: Backwards) -> Iterator[Moment]:
    for one in backwards.recalled:
        given = sum(precedent.given.hit.served for precedent in one.precedents)
        what = f"Searched, and was given {given} of {one.recall.candidates:,}"
        yield Moment(
            one.recall.recalled_at,
            LINKS[LinkKind.RECALL],
            "Searched; held out, nothing was sent" if one.recall.is_held_out else what,
            name=one.recall.session_id or "",
            text=one.recall.query,
            link=("recall", str(one.recall.id)),
        )
    for episode in backwards.wrote:
        yield Moment(
            episode.received_at,
            LINKS[LinkKind.EPISODE],
            "Session came in",
            name=episode.session_id or "",
            link=("episode", str(episode.id)),
        )


def _of_precedents(backwards: Backwards) -> Iterator[Moment]:
    """When each of them was kept out of recall, and let in again."""
    seen = set()
    for recalled in backwards.recalled:
        for one in recalled.precedents:
            for block in one.blocked:
                if block.id in seen:
                    continue
                seen.add(block.id)
                word = words.BLOCKS[BlockKind(block.kind)]
                link = ("episode", str(block.episode_id))
                yield Moment(
                    block.opened_at,
                    word,
                    f"Precedent {word.label.lower()}",
                    by=block.opened_by,
                    text=words.reason_text(block.reason),
                    link=link,
                )
                if block.closed_at is not None:
                    yield Moment(
                        block.closed_at, word, "Block lifted", by=block.closed_by, link=link
                    )


def _of_what_was_said(member: Member, backwards: Backwards) -> Iterator[Moment]:
    """Statements about how the runs and their precedents ended."""
    ids = {*backwards.given_ids, *(episode.id for episode in backwards.wrote)}
    for entry in OutcomeEntry.objects.filter(app_id=member.app_id, episode_id__in=ids).order_by(
        "-at"
    )[:MOST]:
        what = "Statement taken back"
        if entry.outcome is not None:
            what = f"{words.OUTCOMES[Outcome(entry.outcome)].label}, says {entry.source}"
        yield Moment(
            entry.at,
            words.OUTCOMES[Outcome(entry.outcome or Outcome.UNKNOWN)],
            what.replace("_", " "),
            by=entry.stated_by,
            text=words.reason_text(entry.reason),
            link=("episode", str(entry.episode_id)),
        )


def _of_event(event: IncidentEvent) -> Moment:
    told, what, link = event.detail, EVENTS[EventKind(event.kind)].label, ("", "")
    if event.kind == EventKind.STATE:
        before, after = (STATES[IncidentState(told[name])].label for name in ("from", "to"))
        what = f"{before} → {after}"
    elif event.kind in (EventKind.LINKED, EventKind.UNLINKED):
        what = f"{what}: {LINKS[LinkKind(told['kind'])].label.lower()}"
        link = (told["kind"], told["target"])
    elif event.kind == EventKind.EXPORTED:
        what = f"{what} as {told['form']}, {told['sha256'][:12]}"
    return Moment(
        event.at,
        EVENTS[EventKind(event.kind)],
        what,
        by=event.by,
        name=str(told.get("name", "")),
        text=event.text,
        link=link,
        is_ours=True,
    )
