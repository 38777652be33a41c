from __future__ import annotations

from datetime import datetime

import pgtrigger
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Now

from episodes.enums import KeyScope, Role
from episodes.models.app import App
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import one_of


class Member(models.Model):
    """A console user's role in one app. Reviews and audit rows keep the name as text, not this row."""

    app = models.ForeignKey(App, on_delete=models.CASCADE, related_name="members")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=16, choices=Role.choices)
    created_at = models.DateTimeField(default=clock.now, db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["app", "user"], name="episodes_member_one_role_per_app"
            ),
            one_of("role", Role, "episodes_member_role"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id}:{self.role}"


# A key takes the place of another one only where that one comes to an end.
SUCCEEDS_ITS_OWN_APPS_KEY = """
    IF TG_OP = 'UPDATE' AND NEW.predecessor_id IS DISTINCT FROM OLD.predecessor_id THEN
        RAISE EXCEPTION 'which key a key succeeds never changes'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'INSERT' AND NEW.predecessor_id IS NOT NULL AND NOT EXISTS (
        SELECT FROM episodes_apikey p
        WHERE p.id = NEW.predecessor_id AND p.app_id = NEW.app_id AND p.expires_at IS NOT NULL
    ) THEN
        RAISE EXCEPTION 'a key succeeds a key of its app that has an end'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
"""


class ApiKey(models.Model):
    """A machine's access to one app: `mem_<prefix>_<secret>`, of which only a hash is kept.

    `predecessor` is the key whose place this one took when that was rotated; it has one successor.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.CASCADE, related_name="keys")
    name = models.CharField(max_length=100, default="")
    prefix = models.CharField(max_length=16, unique=True)
    predecessor = models.ForeignKey(
        "self", null=True, on_delete=models.RESTRICT, related_name="successors", db_index=False
    )
    secret_hash = models.BinaryField(max_length=32)
    scopes = ArrayField(models.CharField(max_length=16))
    demands_subject_token = models.BooleanField(default=False)
    limit_per_minute = models.PositiveIntegerField(null=True)
    created_at = models.DateTimeField(default=clock.now, db_default=Now())
    created_by = models.CharField(max_length=200, default="")
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(scopes__contained_by=KeyScope.values), name="episodes_apikey_scopes"
            ),
            models.CheckConstraint(
                condition=Q(limit_per_minute__isnull=True) | Q(limit_per_minute__gte=1),
                name="episodes_apikey_limit",
            ),
            # Two people rotate the same key: one of them does. Its index finds a key's successor.
            models.UniqueConstraint(
                fields=["predecessor"],
                condition=Q(predecessor__isnull=False),
                name="episodes_apikey_one_successor",
            ),
        ]
        triggers = [
            pgtrigger.Trigger(
                name="succeeds_its_own_apps_key",
                operation=pgtrigger.Insert | pgtrigger.UpdateOf("predecessor_id"),
                when=pgtrigger.Before,
                func=SUCCEEDS_ITS_OWN_APPS_KEY,
            )
        ]

    def __str__(self) -> str:
        return self.prefix

    def has_ended(self, now: datetime) -> bool:
        """Whether its next request is refused."""
        is_over = self.expires_at is not None and self.expires_at <= now
        return self.revoked_at is not None or is_over


class RateWindow(models.Model):
    """Requests of one API key in one minute, counted by the statement that looks the key up.

    An unlogged table: the counts need not outlive a crash, and a request must not wait for a
    flush because it was counted. `routes` ({route: n}) and `refused` ({"status route": n}) go into
    KeyUse when the key's next minute begins.
    """

    pk = models.CompositePrimaryKey("key_id", "minute")
    key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, related_name="+", db_index=False)
    minute = models.DateTimeField()
    n = models.PositiveIntegerField()
    routes = models.JSONField(default=dict, db_default=Value({}, models.JSONField()))
    refused = models.JSONField(default=dict, db_default=Value({}, models.JSONField()))

    def __str__(self) -> str:
        return f"{self.key_id}: {self.n}"


class KeyUse(models.Model):
    """How often a key called a route on one day (UTC), and how often it was refused with a status.

    `status` 0 counts every request that had the key, whatever was answered.
    """

    EVERY = 0

    pk = models.CompositePrimaryKey("key_id", "day", "route", "status")
    app = models.ForeignKey(App, on_delete=models.CASCADE, related_name="+", db_index=False)
    key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, related_name="+", db_index=False)
    day = models.DateField()
    route = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField()
    n = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(status=0) | Q(status__gte=400, status__lte=599),
                name="episodes_keyuse_status",
            ),
        ]
        indexes = [
            # The daily purge of what is older than what is shown.
            models.Index(fields=["day"], name="keyuse_by_day"),
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.route} {self.status}: {self.n}"
