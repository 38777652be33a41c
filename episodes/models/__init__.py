from episodes.models.access import ApiKey, KeyUse, Member, RateWindow
from episodes.models.account import (
    ConsoleSession,
    DepartedName,
    Identity,
    Invitation,
    RecoveryCode,
    SecondFactor,
    SignInTries,
)
from episodes.models.app import App, RankingProfile
from episodes.models.audit import (
    AuditCheckpoint,
    AuditCut,
    AuditEntry,
    AuditLane,
    AuditPayload,
    AuditVerification,
)
from episodes.models.block import Block, kept_out_by, newer_is_held, of_newer, of_served
from episodes.models.episode import Episode, EpisodeQuerySet
from episodes.models.erasure import (
    AuditErasedText,
    AuditErasure,
    Erasure,
    being_erased,
)
from episodes.models.feedback import Feedback
from episodes.models.hold import Hold
from episodes.models.idempotency import IdempotencyRecord
from episodes.models.operations import FailedTask, Heartbeat, Part
from episodes.models.outcome import OutcomeEntry
from episodes.models.recall import Recall, RecallHit
from episodes.models.retention import RetentionPolicy, RetentionRun
from episodes.models.revision import EpisodeRevision
from episodes.models.serving import Serving
from episodes.models.tombstone import Tombstone
from episodes.models.toolset import Toolset
from episodes.models.vector import EpisodeVector, PendingEmbedding, VectorGeneration

__all__ = [
    "ApiKey",
    "App",
    "AuditCheckpoint",
    "AuditCut",
    "AuditEntry",
    "AuditErasedText",
    "AuditErasure",
    "AuditLane",
    "AuditPayload",
    "AuditVerification",
    "Block",
    "ConsoleSession",
    "DepartedName",
    "Episode",
    "EpisodeQuerySet",
    "EpisodeRevision",
    "EpisodeVector",
    "Erasure",
    "FailedTask",
    "Feedback",
    "Heartbeat",
    "Hold",
    "IdempotencyRecord",
    "Identity",
    "Invitation",
    "KeyUse",
    "Member",
    "OutcomeEntry",
    "Part",
    "PendingEmbedding",
    "RankingProfile",
    "RateWindow",
    "Recall",
    "RecallHit",
    "RecoveryCode",
    "RetentionPolicy",
    "RetentionRun",
    "SecondFactor",
    "Serving",
    "SignInTries",
    "Tombstone",
    "Toolset",
    "VectorGeneration",
    "being_erased",
    "kept_out_by",
    "newer_is_held",
    "of_newer",
    "of_served",
]
