"""What an account of the console has besides its name and password (Django's own table)."""

from __future__ import annotations

from datetime import datetime

import pgtrigger
from django.conf import settings
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from episodes.enums import Role
from episodes.models.app import App
from memoryadmin.lib import clock, ids
from memoryadmin.lib.constraints import append_only, one_of


class ConsoleSession(AbstractBaseSession):
    """A browser's session; it knows whose it is, so that all of a person's can be ended at once.

    `expire_date` moves on while the person is active; `began_at` does not (session_store.py).
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+"
    )
    began_at = models.DateTimeField(default=clock.now, db_default=Now())


class SignInTries(models.Model):
    """Tries that failed, by what they are counted for (episodes/accounts/throttle.py).

    `key` is a keyed hash of a name, an address, a browser or an account.
    """

    key = models.CharField(max_length=64, primary_key=True)
    failures = models.PositiveIntegerField(default=0)
    last_at = models.DateTimeField(default=clock.now)
    closed_until = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            # The purge of what is forgotten.
            models.Index(fields=["last_at"], name="signintries_oldest"),
        ]

    def __str__(self) -> str:
        return f"{self.key[:8]}: {self.failures}"


class Invitation(models.Model):
    """A seat in an app for whoever holds the link, once. Only a hash of the link is kept."""

    id = models.UUIDField(primary_key=True, default=ids.new_id, editable=False)
    app = models.ForeignKey(App, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=150)
    email = models.CharField(max_length=254, default="", blank=True)
    role = models.CharField(max_length=16, choices=Role.choices)
    token_hash = models.CharField(max_length=64, unique=True)
    made_by = models.CharField(max_length=200)
    made_at = models.DateTimeField(default=clock.now, db_default=Now())
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    accepted_by = models.CharField(max_length=150, default="", blank=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            one_of("role", Role, "episodes_invitation_role"),
            models.CheckConstraint(
                condition=Q(expires_at__gt=F("made_at")), name="episodes_invitation_ends_later"
            ),
            models.CheckConstraint(
                condition=Q(accepted_at__isnull=True) | Q(revoked_at__isnull=True),
                name="episodes_invitation_ended_one_way",
            ),
            models.CheckConstraint(
                condition=Q(accepted_at__isnull=True, accepted_by="")
                | (Q(accepted_at__isnull=False) & ~Q(accepted_by="")),
                name="episodes_invitation_accepted_by_somebody",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name}:{self.role}"

    def is_open(self, now: datetime) -> bool:
        return self.accepted_at is None and self.revoked_at is None and now < self.expires_at


class SecondFactor(models.Model):
    """The secret of a person's authenticator app, encrypted; asked for once it is confirmed.

    `last_step`: the time step of the last code taken; that one and older ones are refused.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="second_factor",
    )
    secret = models.CharField(max_length=200)
    made_at = models.DateTimeField(default=clock.now, db_default=Now())
    confirmed_at = models.DateTimeField(null=True)
    last_step = models.BigIntegerField(default=-1)

    def __str__(self) -> str:
        return str(self.user_id)


class RecoveryCode(models.Model):
    """Stands in for the second factor, once. Only a keyed hash of it is kept."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    code_hash = models.CharField(max_length=64)
    used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            # A sign-in looks its code up; the page counts what is left.
            models.UniqueConstraint(
                fields=["user", "code_hash"], name="episodes_recoverycode_one_each"
            ),
        ]

    def __str__(self) -> str:
        return str(self.user_id)


class Identity(models.Model):
    """Who an account is at the identity provider: by issuer and subject, which never change hands.

    An address of e-mail does, and not every provider has checked it.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="identities"
    )
    issuer = models.CharField(max_length=300)
    subject = models.CharField(max_length=255)
    linked_at = models.DateTimeField(default=clock.now, db_default=Now())

    class Meta:
        constraints = [
            # A sign-in through the provider looks its account up.
            models.UniqueConstraint(
                fields=["issuer", "subject"], name="episodes_identity_one_account"
            ),
            models.UniqueConstraint(
                fields=["user", "issuer"], name="episodes_identity_one_per_issuer"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id}@{self.issuer}"


class DepartedName(models.Model):
    """The name of a deleted account. Reviews and audit rows stand under it, and a second person is
    told from the first by name: it is given to nobody else."""

    name = models.CharField(max_length=150, primary_key=True)
    left_at = models.DateTimeField(default=clock.now, db_default=Now())

    class Meta:
        triggers: list[pgtrigger.Trigger] = [append_only()]

    def __str__(self) -> str:
        return self.name
