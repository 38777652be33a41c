from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from pgvector.django import VectorField

from episodes.enums import Scope
from episodes.models.app import App
from episodes.models.episode import Episode
from memoryadmin.lib import clock
from memoryadmin.lib.constraints import (
    HAS_REVISION,
    ChangesOnly,
    belongs_to_its_head,
    never_changed,
    one_of,
)


class VectorGeneration(models.Model):
    """One embedder's vectors. Vectors of two generations are never compared.

    `minimum` and `failure_threshold` are cosine similarities, measured for this embedder.
    """

    name = models.CharField(max_length=128, unique=True)
    embedder = models.CharField(max_length=32)
    model = models.CharField(max_length=128)
    dimensions = models.PositiveIntegerField()
    minimum = models.FloatField()
    failure_threshold = models.FloatField()
    created_at = models.DateTimeField(default=clock.now, db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(dimensions__gte=1, dimensions__lte=16_000),
                name="episodes_vectorgeneration_dimensions",
            ),
            models.CheckConstraint(
                # Upper bounds, too: NaN is above every number.
                condition=Q(
                    minimum__gte=0.0,
                    failure_threshold__gte=F("minimum"),
                    failure_threshold__lte=1.0,
                ),
                name="episodes_vectorgeneration_thresholds_in_order",
            ),
        ]
        # Vectors of one generation have one dimension; thresholds follow the settings.
        triggers = [ChangesOnly(columns=("minimum", "failure_threshold"))]

    def __str__(self) -> str:
        return self.name


class EpisodeVector(models.Model):
    """The unit vector of a revision's goal and issue type in one generation."""

    pk = models.CompositePrimaryKey("app_id", "episode_id", "generation_id", "revision")
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    generation = models.ForeignKey(
        VectorGeneration, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    episode = models.ForeignKey(
        Episode,
        on_delete=models.CASCADE,
        related_name="vectors",
        db_constraint=False,
        db_index=False,
    )
    revision = models.PositiveIntegerField()
    scope = models.CharField(max_length=8, choices=Scope.choices)
    user_id = models.CharField(max_length=256, null=True)
    # No fixed dimension: generations differ. The org scope gets a partial expression index
    # ((vector::vector(n)) hnsw) where generation = g and scope = 'org', one per generation.
    vector = VectorField()
    # sha256 of the embedded text: a revision with the same goal takes its predecessor's vector.
    text_hash = models.CharField(max_length=64)
    embedded_at = models.DateTimeField(default=clock.now, db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(scope=Scope.USER, user_id__isnull=False)
                | Q(scope=Scope.ORG, user_id__isnull=True),
                name="episodes_episodevector_subject_fits_scope",
            ),
            one_of("scope", Scope, "episodes_episodevector_scope"),
        ]
        indexes = [
            # Search, scope user: one range of a subject's vectors.
            models.Index(fields=["app", "user_id", "generation"], name="vector_of_user"),
        ]
        triggers = [
            # An org row's vector lies in a shared index, a vector of other length ends a search.
            belongs_to_its_head(
                HAS_REVISION,
                """head.scope = NEW.scope AND vector_dims(NEW.vector) = (
                    SELECT g.dimensions FROM episodes_vectorgeneration g
                    WHERE g.id = NEW.generation_id)""",
            ),
            never_changed(),
        ]

    def __str__(self) -> str:
        return f"{self.episode_id}@{self.revision}"


class PendingEmbedding(models.Model):
    """A revision that waits for its vector: the work list that survives any crash.

    Holds no text; the text is read from the revision when its turn comes.
    """

    pk = models.CompositePrimaryKey("app_id", "episode_id", "generation_id", "revision")
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    generation = models.ForeignKey(
        VectorGeneration, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    episode = models.ForeignKey(
        Episode, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    revision = models.PositiveIntegerField()
    user_id = models.CharField(max_length=256, null=True)
    attempts = models.PositiveIntegerField(default=0)
    next_attempt_at = models.DateTimeField(default=clock.now, db_default=Now())
    last_error = models.CharField(max_length=64, default="", blank=True)
    created_at = models.DateTimeField(default=clock.now, db_default=Now())

    class Meta:
        indexes = [
            # Erasure: a subject's rows, and those that are nobody's.
            models.Index(fields=["app", "user_id"], name="pendingembedding_of_user"),
            # embed_due: what is due, oldest first.
            models.Index(fields=["next_attempt_at"], name="pendingembedding_due"),
            # readyz: how long the oldest has waited.
            models.Index(fields=["created_at"], name="pendingembedding_oldest"),
        ]
        triggers = [
            belongs_to_its_head(HAS_REVISION, moves=("app_id", "episode_id", "revision", "user_id"))
        ]

    def __str__(self) -> str:
        return f"{self.episode_id}@{self.revision}"
