from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from episodes.models.app import App
from episodes.models.episode import Episode
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import HAS_REVISION, ClosedOnce, belongs_to_its_head


class Serving(models.Model):
    """The interval during which a revision was the one served: what "as of a date" asks for."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="+", db_index=False)
    episode = models.ForeignKey(
        Episode,
        on_delete=models.CASCADE,
        related_name="servings",
        db_constraint=False,
        db_index=False,
    )
    user_id = models.CharField(max_length=256, null=True)
    revision = models.PositiveIntegerField()
    served_from = models.DateTimeField(default=clock.now, db_default=Now())
    served_to = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["app", "episode"],
                condition=Q(served_to__isnull=True),
                name="episodes_serving_one_standing",
            ),
            models.CheckConstraint(
                condition=Q(served_to__isnull=True) | Q(served_to__gte=F("served_from")),
                name="episodes_serving_ends_after_it_begins",
            ),
        ]
        indexes = [
            # Erasure: a subject's rows, and those that are nobody's.
            models.Index(fields=["app", "user_id"], name="serving_of_user"),
            # The revision served at a moment.
            models.Index(fields=["app", "episode", "served_from"], name="serving_of_episode"),
        ]
        triggers = [ClosedOnce(columns=("served_to",)), belongs_to_its_head(HAS_REVISION)]

    def __str__(self) -> str:
        return f"{self.episode_id}@{self.revision}"
