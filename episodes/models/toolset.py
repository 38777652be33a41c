from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from episodes.enums import HashKind
from episodes.models.app import App
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import one_of


class Toolset(models.Model):
    """One standing of a declared version of an agent's tools, from its declaration to its end.

    *Current* is a set: what stands and is in use. A version that is declared again after it was
    retired, or was out of use, stands anew in a row of its own. Agent '' is any agent.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.CASCADE, related_name="toolsets")
    agent_id = models.CharField(max_length=256, default="", blank=True)
    version = models.CharField(max_length=128)
    hash_kind = models.CharField(max_length=16, choices=HashKind.choices)
    tools = models.JSONField(default=list)
    declared_at = models.DateTimeField(default=clock.now, db_default=Now())
    # Provenance, assigned by the server.
    declared_by = models.CharField(max_length=200, default="")
    key_prefix = models.CharField(max_length=16, default="", db_default="", blank=True)
    route = models.CharField(max_length=64, default="", db_default="", blank=True)
    address_hash = models.CharField(max_length=64, default="", db_default="", blank=True)
    last_used_at = models.DateTimeField(default=clock.now, db_default=Now())
    retired_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["app", "agent_id", "version"],
                condition=Q(retired_at__isnull=True),
                name="episodes_toolset_one_standing",
            ),
            one_of("hash_kind", HashKind, "episodes_toolset_hash_kind"),
        ]

    def __str__(self) -> str:
        return self.version
