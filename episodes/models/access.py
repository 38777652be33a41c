from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
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


class ApiKey(models.Model):
    """A machine's access to one app: `mem_<prefix>_<secret>`, of which only a hash is kept.

    `subject_secret_hash` is the key under which signed subject tokens of this API key are made;
    it is set when the key demands one.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.CASCADE, related_name="keys")
    name = models.CharField(max_length=100, default="")
    prefix = models.CharField(max_length=16, unique=True)
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
        ]

    def __str__(self) -> str:
        return self.prefix


class RateWindow(models.Model):
    """Requests of one API key in one minute, counted by the statement that looks the key up.

    An unlogged table: the counts need not outlive a crash, and a request must not wait for a
    flush because it was counted.
    """

    pk = models.CompositePrimaryKey("key_id", "minute")
    key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, related_name="+", db_index=False)
    minute = models.DateTimeField()
    n = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.key_id}: {self.n}"
