"""The closed vocabularies of product.md, as the database and the API spell them."""

from __future__ import annotations

from django.db.models import TextChoices


class Outcome(TextChoices):
    SUCCESS = "success"
    PARTIAL = "partial"
    FAILURE = "failure"
    ESCALATED = "escalated"
    ABANDONED = "abandoned"
    UNKNOWN = "unknown"


class OutcomeSource(TextChoices):
    """Who says so. The first three are authoritative, highest first."""

    RESOLUTION = "resolution"
    REVIEWER = "reviewer"
    TOOL = "tool"
    USER_FEEDBACK = "user_feedback"
    AGENT_CLAIM = "agent_claim"
    MODEL = "model"


AUTHORITIES = (OutcomeSource.RESOLUTION, OutcomeSource.REVIEWER, OutcomeSource.TOOL)


class Scope(TextChoices):
    USER = "user"
    ORG = "org"


class Origin(TextChoices):
    """Which door an episode came through."""

    SESSION = "session"
    PROMOTION = "promotion"


class SearchedScope(TextChoices):
    USER = "user"
    ORG = "org"
    BOTH = "both"


class State(TextChoices):
    OPEN = "open"
    COMPLETED = "completed"


class RecallState(TextChoices):
    """A cache of "has no open block", kept in the transaction that opens or lifts one."""

    RECALLABLE = "recallable"
    BLOCKED = "blocked"


class ReviewState(TextChoices):
    UNREVIEWED = "unreviewed"
    REVIEWED = "reviewed"
    CHANGED_AFTER_REVIEW = "changed_after_review"


class IndexState(TextChoices):
    """Whether the served revision has its vector in the generation that its app searches."""

    PENDING = "pending"
    READY = "ready"


class BlockKind(TextChoices):
    QUARANTINE = "quarantine"
    HELD = "held"
    WITHDRAWN = "withdrawn"
    LEGAL = "legal"


class HoldKind(TextChoices):
    """What a legal hold was placed on."""

    SUBJECT = "subject"
    SESSION = "session"
    EPISODE = "episode"
    RECALL = "recall"
    INCIDENT = "incident"


class LessonSource(TextChoices):
    TEMPLATE = "template"
    MODEL = "model"
    REVIEWER = "reviewer"
    CALLER = "caller"


class HashKind(TextChoices):
    """What a toolset version is a hash of; only versions of one kind can be compared."""

    NAMES = "names"
    SCHEMAS = "schemas"
    OPAQUE = "opaque"


class Role(TextChoices):
    VIEWER = "viewer"
    REVIEWER = "reviewer"
    CURATOR = "curator"
    COMPLIANCE = "compliance"
    ADMIN = "admin"


class KeyScope(TextChoices):
    INGEST = "ingest"
    SEARCH = "search"
    FEEDBACK = "feedback"
    VERIFY = "verify"
    ERASE = "erase"
    READ = "read"
    READ_ALL = "read_all"


class Rating(TextChoices):
    POSITIVE = "positive"
    NEGATIVE = "negative"
    NEUTRAL = "neutral"


class RecallMode(TextChoices):
    EXACT = "exact"
    APPROXIMATE = "approximate"


class Arm(TextChoices):
    TREATMENT = "treatment"
    CONTROL = "control"


class ToolsetRelation(TextChoices):
    CURRENT = "current"
    OTHER = "other"
    UNKNOWN = "unknown"


class ActorKind(TextChoices):
    MEMBER = "member"
    KEY = "key"
    COMMAND = "command"
    SYSTEM = "system"


class ErasureStatus(TextChoices):
    """`verifying`: everything was deleted, and is looked for again. `on_hold`: a legal hold stands."""

    SCHEDULED = "scheduled"
    RUNNING = "running"
    VERIFYING = "verifying"
    VERIFIED = "verified"
    ON_HOLD = "on_hold"
    FAILED = "failed"


UNFINISHED = (
    ErasureStatus.SCHEDULED,
    ErasureStatus.RUNNING,
    ErasureStatus.VERIFYING,
    ErasureStatus.ON_HOLD,
)


class SignInMethod(TextChoices):
    PASSWORD = "password"  # noqa: S105  (the word, not one)
    PROVIDER = "provider"
