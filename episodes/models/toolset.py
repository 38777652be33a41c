from __future__ import annotations

from datetime import datetime, timedelta

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from episodes.enums import HashKind
from episodes.models.app import App
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import ChangesOnly, one_of

# Out of use for so long, a toolset is no longer current.
USE = timedelta(days=7)
# The same in SQL, of a toolset `t`: what is in use, and when a standing ends. One that is in use
# ends in the future, by its last use. (`ToolsetQuerySet.in_use`, `Toolset.ends_at`.)
IN_USE = f"""t.retired_at IS NULL
        AND t.last_used_at > %(now)s::timestamptz - interval '{USE.days} days'"""
ENDS_AT = f"coalesce(t.retired_at, t.last_used_at + interval '{USE.days} days')"


class ToolsetQuerySet(models.QuerySet["Toolset"]):
    def in_use(self, moment: datetime) -> ToolsetQuerySet:
        """What was current at the moment: declared, not retired, and used within the week before.

        Each use is within a week of the one before (episodes/toolsets.py), so the last one tells.
        """
        return self.filter(
            Q(retired_at__isnull=True) | Q(retired_at__gt=moment),
            declared_at__lte=moment,
            last_used_at__gt=moment - USE,
        )


class Toolset(models.Model):
    """One standing of a declared version of an agent's tools, from its declaration to its end.

    *Current* is a set: what stands and is in use. A version that is declared again after it was
    retired, or was out of use, stands anew in a row of its own. Agent '' is any agent.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.CASCADE, related_name="toolsets", db_index=False)
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

    objects = ToolsetQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["app", "agent_id", "version"],
                condition=Q(retired_at__isnull=True),
                name="episodes_toolset_one_standing",
            ),
            one_of("hash_kind", HashKind, "episodes_toolset_hash_kind"),
        ]
        indexes = [
            # The page of an app's toolsets, newest first; what search and the sweep read of an app.
            models.Index(F("app"), F("declared_at").desc(), name="toolset_newest_of_app"),
        ]
        triggers = [ChangesOnly(columns=("last_used_at", "retired_at"), until="retired_at")]

    def __str__(self) -> str:
        return self.version

    @property
    def ends_at(self) -> datetime:
        """When it was retired, or is out of use if nobody uses it any more."""
        return self.retired_at or self.last_used_at + USE

    @property
    def is_retired(self) -> bool:
        """Whether somebody retired it, instead of its having gone out of use."""
        return self.retired_at is not None and self.retired_at != self.last_used_at + USE
