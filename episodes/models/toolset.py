from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from episodes.enums import HashKind
from episodes.models.app import App
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import one_of


class Toolset(models.Model):
    """A declared version of an agent's tools. *Current* is a set: declared, not retired, in use."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.CASCADE, related_name="toolsets")
    agent_id = models.CharField(max_length=256, default="", blank=True)
    version = models.CharField(max_length=128)
    hash_kind = models.CharField(max_length=16, choices=HashKind.choices)
    tools = models.JSONField(default=list)
    declared_at = models.DateTimeField(default=clock.now, db_default=Now())
    declared_by = models.CharField(max_length=200, default="")
    last_used_at = models.DateTimeField(default=clock.now, db_default=Now())
    retired_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["app", "agent_id", "version"], name="episodes_toolset_one_per_version"
            ),
            one_of("hash_kind", HashKind, "episodes_toolset_hash_kind"),
        ]

    def __str__(self) -> str:
        return self.version
