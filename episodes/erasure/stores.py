"""Where the rows of this app hold a subject's data, and how they go. See memoryadmin/lib/erasable.py.

Every column is named, so that a new one makes somebody think. An episode's rows go before its head.
What an org episode took over of a subject's words goes with its head, found by the keyed hash, in
every app that it was offered to.
"""

from __future__ import annotations

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import models

from episodes.deletion import children, delete_episodes, goes_with_its_episode
from episodes.erasure.mentions import count_mentions, remove_mentions
from episodes.erasure.shared import shared_episodes
from episodes.erasure.texts import erase_texts, erase_texts_that_name, texts_of, texts_that_name
from episodes.models import (
    ApiKey,
    App,
    AuditCheckpoint,
    AuditCut,
    AuditEntry,
    AuditErasure,
    AuditLane,
    AuditPayload,
    AuditVerification,
    Block,
    ConsoleSession,
    DepartedName,
    Episode,
    EpisodeRevision,
    EpisodeVector,
    Erasure,
    FailedTask,
    Feedback,
    Heartbeat,
    Hold,
    IdempotencyRecord,
    Identity,
    Invitation,
    KeyUse,
    OutcomeEntry,
    PendingEmbedding,
    RankingProfile,
    RateWindow,
    Recall,
    RecallHit,
    RecoveryCode,
    RetentionPolicy,
    RetentionRun,
    SecondFactor,
    Serving,
    SignInTries,
    Tombstone,
    Toolset,
    VectorGeneration,
)
from memoryadmin.lib import erasable
from memoryadmin.lib.erasable import Place, Store, Subject, evidence, keep, register, rows_of

PEOPLE = "the name of a console account, a key or a command, which is no subject's"
_PROVENANCE = ("key_prefix", "route", "address_hash")
_PROVENANCE_IS = "assigned by the server: a key's prefix, a route, an address's keyed hash"


def register_stores() -> None:
    """Called when the app is ready."""
    _register_episodes()
    _register_log()
    _register_audit()
    _register_mentions()
    _keep_the_rest()


def _register_episodes() -> None:
    rows: list[tuple[type[models.Model], str, str]] = [
        (PendingEmbedding, "pending_embeddings", ""),
        (EpisodeVector, "vectors", "vector text_hash"),
        (Serving, "servings", ""),
        (Block, "blocks", "reason figures"),
        (OutcomeEntry, "outcomes", "reason evidence"),
        (
            EpisodeRevision,
            "revisions",
            "goal steps resolution lesson agent_id task_id issue_type tags outcome_reason"
            " toolset_version tools errors procedure_key content_hash identifiers search"
            " dropped_arguments stripped",
        ),
    ]
    for model, name, columns in rows:
        rows_of(model, name, Place.CHILDREN, columns=columns.split())
        goes_with_its_episode(model)
    rows_of(
        Episode,
        "episodes",
        Place.HEADS,
        columns=[
            "session_id",
            "episode_key",
            "wording_hash",
            "procedure_key",
            "toolset_version",
            "agent_id",
            "task_id",
            "issue_type",
            "tags",
        ],
    )
    register(
        Store(
            "shared_episodes",
            Place.HEADS,
            (Episode._meta.db_table, *children()),
            count=lambda subject: len(shared_episodes(subject)),
            erase=_erase_shared,
        )
    )
    evidence(EpisodeRevision, "goal", "resolution", "lesson")
    keep(Episode, "origin", because="one of our own words: the door it came through")
    keep(Block, "opened_by", "closed_by", because=PEOPLE)
    keep(OutcomeEntry, "stated_by", because=PEOPLE)
    keep(OutcomeEntry, *_PROVENANCE, because=_PROVENANCE_IS)
    keep(EpisodeRevision, "format", because="the name of a format")
    keep(EpisodeRevision, "written_by", because=PEOPLE)
    keep(EpisodeRevision, *_PROVENANCE, because=_PROVENANCE_IS)
    keep(PendingEmbedding, "last_error", because="a code of an embedder's failure")


def _erase_shared(subject: Subject, limit: int) -> int:
    """Delete org episodes with everything that hangs on them; return how many episodes."""
    found = shared_episodes(subject)[: max(limit // 10, 1)]
    for app_id, episode_id in found:
        delete_episodes(app_id=app_id, episode_ids=[episode_id])
    return len(found)


def _register_log() -> None:
    rows_of(
        Feedback,
        "feedback",
        Place.AROUND,
        columns=("session_id", "feedback_id", "comment", "source"),
    )
    rows_of(
        Recall,
        "recalls",
        Place.AROUND,
        columns=[
            "session_id",
            "invocation_id",
            "agent_id",
            "query",
            "query_tokens",
            "filters",
            "toolset_version",
            "excluded",
            "retention",
        ],
    )
    rows_of(RecallHit, "recall_hits", Place.AROUND, columns=("content_hash",))
    evidence(Feedback, "comment")
    evidence(Recall, "query")
    keep(Feedback, "written_by", because=PEOPLE)
    keep(Feedback, *_PROVENANCE, because=_PROVENANCE_IS)
    keep(Recall, *_PROVENANCE, "request_id", because=_PROVENANCE_IS)
    keep(Recall, "scope", "profile", because="one of our own words")
    keep(RecallHit, "scope", "outcome", "outcome_source", "toolset", because="one of our own words")
    # one that stands keeps the erasure waiting; these were lifted, or their time was up
    rows_of(Hold, "holds", Place.AROUND, columns=("session_id", "reason", "end_reason"))
    keep(Hold, "placed_by", "ended_by", because=PEOPLE)
    # a request names one subject or many, and its digest is one over them all
    holds = "app_id = %(app_id)s AND subject_hashes @> ARRAY[%(hash)s]::bytea[]"
    table = IdempotencyRecord._meta.db_table
    register(
        Store(
            "idempotency",
            Place.AROUND,
            (table,),
            count=lambda subject: erasable.count_rows(f"FROM {table} WHERE {holds}", subject),
            erase=lambda subject, limit: erasable.delete_rows(table, holds, subject, limit),
        ),
        columns={IdempotencyRecord: ("subject_hashes", "key_hash", "body_hash", "answer")},
    )
    keep(IdempotencyRecord, "key_prefix", because=_PROVENANCE_IS)


def _register_audit() -> None:
    table = (AuditPayload._meta.db_table,)
    register(
        Store("audit_texts", Place.AUDIT, table, count=texts_of, erase=erase_texts),
        columns={AuditPayload: ("user_id", "salt", "canonical")},
    )
    register(
        Store(
            "audit_mentions",
            Place.AUDIT,
            table,
            count=texts_that_name,
            erase=erase_texts_that_name,
        )
    )
    keep(AuditEntry, "actor", "role", because=PEOPLE)
    keep(AuditEntry, "key_prefix", "request_id", because=_PROVENANCE_IS)
    keep(AuditEntry, "verb", "target_kind", "target_id", because="our own words and ids")
    keep(AuditEntry, "payload_digest", "chain", because="a digest over salted text")
    keep(AuditLane, "chain", because="a digest over entries")
    keep(AuditCheckpoint, "statement", because="digests over entries, signed")
    keep(AuditCut, "statement", because="a lane, numbers and a digest over entries, signed")
    keep(AuditVerification, "asked_by", because=PEOPLE)
    keep(AuditVerification, "chain", "broken", because="a digest, and a place in the chain")
    keep(AuditErasure, "statement", because="a digest over ids of entries, signed")


def _register_mentions() -> None:
    """What people wrote, in whichever app's models: known when all are registered."""
    register(
        Store(
            "mentions",
            Place.AROUND,
            (),
            count=count_mentions,
            erase=remove_mentions,
        ),
        columns={Erasure: ("reason",)},
    )


def _keep_the_rest() -> None:
    keep(
        Erasure,
        *("subject_hash", "key_id", "user_id", "requested_by", "requested_role"),
        *("counts", "found", "position", "last_error", "certificate", "clearance"),
        because="the subject until it is verified; then counts, names of tables and a keyed hash",
    )
    keep(Tombstone, "subject_hash", "key_id", because="a keyed hash, which refuses late writes")
    keep(Tombstone, "readmitted_by", because=PEOPLE)
    keep(
        App,
        "name",
        "argument_whitelist",
        "review_rules",
        "retention_rules",
        because="settings; names, never values",
    )
    keep(RankingProfile, "name", "created_by", because="constants, and who set them")
    keep(
        ApiKey,
        "name",
        "prefix",
        "secret_hash",
        "scopes",
        "created_by",
        because="a machine's access",
    )
    keep(RateWindow, "routes", "refused", because="our own addresses without a value, and counts")
    keep(KeyUse, "route", because="one of our own addresses, without a value")
    keep(Toolset, "agent_id", "version", "tools", because="names and schemas of tools")
    keep(Toolset, "declared_by", because=PEOPLE)
    keep(Toolset, *_PROVENANCE, because=_PROVENANCE_IS)
    keep(RetentionPolicy, "name", "made_by", "ended_by", because="a setting, and who made it")
    keep(
        RetentionRun,
        *("policies", "stores", "sample", "space"),
        because="counts, names of tables, and ids of episodes that are gone",
    )
    keep(VectorGeneration, "name", "embedder", "model", because="names of models")
    keep(FailedTask, "task", "task_id", "arguments", because="our own names, numbers and ids")
    keep(FailedTask, "error", "place", because="a class, and places in the program")
    keep(Heartbeat, "node", because="a host's name")
    account = "a console account, which is no subject"
    user = ("username", "password", "first_name", "last_name", "email")
    keep(get_user_model(), *user, because=account)
    keep(Session, "session_key", "session_data", because=account)
    keep(ConsoleSession, "session_key", "session_data", because=account)
    keep(SignInTries, "key", because="a keyed hash of who tried to sign in")
    invited = ("name", "email", "token_hash", "made_by", "accepted_by")
    keep(Invitation, *invited, because="who is invited to the console, which is no subject")
    keep(SecondFactor, "secret", because=account)
    keep(RecoveryCode, "code_hash", because=account)
    keep(Identity, "issuer", "subject", because=account)
    keep(DepartedName, "name", because=PEOPLE)
    keep(Group, "name", because="names of groups of accounts")
    keep(Permission, "name", "codename", because="Django's own words")
    keep(ContentType, "app_label", "model", because="Django's own words")
