"""A subject with something in every store, and canaries in every column that can hold one."""

from __future__ import annotations

from typing import Any

import pgtrigger
from django.db import DatabaseError, connection, transaction
from psycopg.sql import SQL, Identifier

from curation.incidents.working import add_note, link_target, open_incident
from curation.models import (
    Alarm,
    Consolidation,
    ConsolidationSource,
    FlagReason,
    Incident,
    LinkKind,
    Precedent,
    SourceKind,
)
from curation.poison.flagging import (
    Choice,
    block_closure,
    flag_episode,
    lift_closure,
    lift_flag,
    read_closure,
)
from curation.promotion import approve_precedent, offer_precedent, propose_precedent
from episodes import audit
from episodes.enums import HoldKind
from episodes.erasure.check import Table, read_tables
from episodes.erasure.run import run_erasures
from episodes.feedback import record_feedback
from episodes.holds import Held, lift_hold, place_hold
from episodes.idempotency import claim_request
from episodes.models import App, Episode, Erasure
from tests.curation.promotion.scene import ANNA, BEN, CARA, GOALS, TOOLS, review
from tests.episodes.asking import ask
from tests.episodes.recall_log import log_recall
from tests.factories import ACTOR, make_episode

SUBJECT = "maria.quillfeather@example.com"
CANARY = "zyzzogeton-4471"
# Vectors hold numbers only; a column of the search is built from texts that are planted, too.
_TYPES = ("text", "varchar", "jsonb", "_text", "_varchar", "bytea", "tsvector")


def make_everything(app: App, other_app: App, user_id: str = SUBJECT) -> Precedent:
    """Give a subject rows in every table that can have some, by what the program itself does."""
    source = make_episode(
        app, goal=GOALS[0], tools=TOOLS, user_id=user_id, session_id="shared", embedded=True
    )
    precedent = _promote(review(source), other_app)
    waiting = make_episode(app, user_id=user_id, session_id="waiting")  # has no vector yet
    record_feedback(
        app=app, user_id=user_id, session_id="shared", rating="negative", actor=ACTOR, comment="No."
    )
    record_feedback(
        app=app, user_id=user_id, session_id="never came", rating="positive", actor=ACTOR
    )
    ask(app, user_id=user_id, session_id="asking")
    log_recall(app, source, user_id=user_id, session_id="reached")
    reached = make_episode(app, user_id=user_id, session_id="reached")
    _flag(source)
    _alarm(waiting)
    _lesson(reached)
    _incident(source)
    with transaction.atomic():
        audit.record(
            actor=ACTOR,
            verb="note.written",
            target_kind="app",
            target_id=app.pk,
            app=app,
            reason=f"{user_id.upper()} called again.",
        )
    about_nobody = open_incident(app=app, title="It", description="It was paid.", actor=ACTOR)
    # as what is no pattern of personal data comes through the masker
    Incident.objects.filter(pk=about_nobody.pk).update(description=f"{user_id} was paid twice.")
    held = Held(HoldKind.SESSION, user_id=user_id, session_id="shared")
    hold = place_hold(app=app, target=held, reason="A court asked.", actor=ACTOR)
    lift_hold(hold=hold, reason="It is over.", actor=ACTOR)
    claim_request(
        app_id=app.pk, key_prefix="prefix", key=user_id, request=b"{}", user_ids=[user_id, "peer-0"]
    )
    return precedent


def _promote(source: Episode, other_app: App) -> Precedent:
    made = propose_precedent(episode=source, actor=ANNA)
    done = approve_precedent(
        precedent=made, actor=BEN, seen=made.version, override="Enough for a test."
    )
    offer = offer_precedent(precedent=done, to=other_app, actor=ANNA, seen=done.version)
    approve_precedent(precedent=offer, actor=CARA, seen=1, override="Enough for a test.")
    return done


def _flag(episode: Episode) -> None:
    found = flag_episode(
        episode=episode, reason=FlagReason.INJECTION, note="It gives orders.", actor=ACTOR
    )
    blocked = block_closure(
        flag=found,
        choice=Choice(),
        seen=read_closure(flag=found).digest,
        reason="It copied them.",
        actor=ACTOR,
    )
    lift_closure(containment=blocked, reason="They did not.", actor=ACTOR)
    lift_flag(flag=found, reason="It does not.", actor=ACTOR)


def _alarm(episode: Episode) -> None:
    Alarm.objects.create(
        app=episode.app, episode=episode, user_id=episode.user_id, kind="retrieval_share"
    )


def _lesson(episode: Episode) -> None:
    lesson = Consolidation.objects.create(
        app=episode.app,
        procedure_key="k",
        lesson="In 1 session.",
        n_sources=1,
        n_subjects=1,
        threshold=1,
    )
    ConsolidationSource.objects.create(
        app=episode.app,
        consolidation=lesson,
        episode_id=episode.id,
        revision=1,
        user_id=episode.user_id or "",
    )


def _incident(episode: Episode) -> None:
    incident = open_incident(
        app=episode.app,
        title="A refund too many",
        description="It was paid twice.",
        source_kind=SourceKind.EPISODE,
        source_id=str(episode.id),
        actor=ACTOR,
    )
    add_note(incident=incident, text="Asked the customer.", actor=ACTOR)
    link_target(incident=incident, kind=LinkKind.EPISODE, target_id=str(episode.id), actor=ACTOR)


def tables_of_subjects() -> list[Table]:
    """Return every table whose rows are one subject's, by introspection."""
    return [
        table
        for table in read_tables()
        if table.is_by_subject and table.is_by_app and table.name != "episodes_erasure"
    ]


def plant(app: App, user_id: str, precedent: Precedent) -> set[str]:
    """Write the canary into each column of each row of the subject that takes it; return which."""
    planted = set()
    for table in tables_of_subjects():
        for column in table.columns:
            if column.type not in _TYPES or column.name == "user_id" or table.is_kept(column.name):
                continue
            if _takes(table, column.name, column.type, "user_id", [app.pk, user_id]):
                planted.add(f"{table.name}.{column.name}")
    # what the organisation took over of it
    for name in ("goal", "resolution", "lesson", "steps", "identifiers"):
        [table] = [one for one in tables_of_subjects() if one.name == "episodes_episoderevision"]
        [kind] = [column.type for column in table.columns if column.name == name]
        assert _takes(table, name, kind, "episode_id", [app.pk, precedent.org_episode_id])
    return planted


def _takes(table: Table, column: str, kind: str, by: str, values: list[Any]) -> bool:
    canary: Any = {
        "jsonb": f'["{CANARY}"]',
        "_text": f"{{{CANARY}}}",
        "_varchar": f"{{{CANARY}}}",
        "bytea": CANARY.encode().ljust(32, b"."),
    }.get(kind, CANARY)
    # several rows of a subject may not say the same
    apart = SQL("|| ' ' || ctid::text" if kind in ("text", "varchar") else "")
    statement = SQL("UPDATE {} SET {} = %s::{} {} WHERE app_id = %s AND {} = %s").format(
        Identifier(table.name),
        Identifier(column),
        SQL(kind.replace("_", "") + "[]" * ("_" in kind)),
        apart,
        Identifier(by),
    )
    try:
        with pgtrigger.ignore(), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement, [canary, *values])
            return bool(cursor.rowcount > 0)
    except DatabaseError:
        return False  # a closed list, or a key


def canaries_left(canary: str = CANARY) -> list[str]:
    """Return "table: column" of everything in the whole database that has the canary."""
    found = []
    hexed = canary.encode().hex()
    for table in read_tables():
        for column in table.columns:
            query = SQL("SELECT count(*) FROM {0} WHERE strpos(lower({1}::text), %s) > 0").format(
                table.sql(), Identifier(column.name)
            )
            with connection.cursor() as cursor:
                cursor.execute(query, [hexed if column.type == "bytea" else canary.lower()])
                if cursor.fetchone() != (0,):
                    found.append(f"{table.label}: {column.name}")
    return found


def others(app: App, user_id: str) -> dict[str, tuple[int, str]]:
    """Return number and hash of the rows of everybody else, by table."""
    found = {}
    for table in tables_of_subjects():
        with connection.cursor() as cursor:
            cursor.execute(
                SQL(
                    "SELECT count(*), coalesce(md5(string_agg(t::text, '|' ORDER BY t::text)), '')"
                    " FROM {} t WHERE user_id IS NOT NULL AND NOT (app_id = %s AND user_id = %s)"
                ).format(table.sql()),
                [app.pk, user_id],
            )
            found[table.name] = cursor.fetchone()
    return found


def finish(erasure: Erasure) -> Erasure:
    """Run until it has ended."""
    for _ in range(50):
        run_erasures(budget=5.0)
        erasure.refresh_from_db()
        if erasure.next_attempt_at is None:
            break
    return erasure
