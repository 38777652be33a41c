"""The accounts of the installation, for whoever looks after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.contrib.auth.models import User
from django.db.models import Count

from episodes.models import ConsoleSession, Identity, Member, SecondFactor
from memoryadmin.lib import clock

PAGE = 50


@dataclass(frozen=True, slots=True)
class AccountRow:
    """`seats`: (app, role). `providers`: issuers through which the account is entered."""

    user: User
    has_factor: bool
    sessions: int
    seats: list[tuple[str, str]] = field(default_factory=list)
    providers: list[str] = field(default_factory=list)


def read_accounts(*, after: str = "", size: int = PAGE) -> tuple[Sequence[AccountRow], str]:
    """Return a page by name, and the name that the next one comes after ('' at the end)."""
    found = list(User.objects.filter(username__gt=after).order_by("username")[: size + 1])
    users = found[:size]
    ids = [user.pk for user in users]
    factors = set(
        SecondFactor.objects.filter(user__in=ids, confirmed_at__isnull=False).values_list(
            "user_id", flat=True
        )
    )
    live = ConsoleSession.objects.filter(user__in=ids, expire_date__gt=clock.now())
    sessions = {row["user"]: row["n"] for row in live.values("user").annotate(n=Count("pk"))}
    rows = {
        user.pk: AccountRow(user, user.pk in factors, sessions.get(user.pk, 0)) for user in users
    }
    for member in Member.objects.filter(user__in=ids).select_related("app").order_by("app__name"):
        rows[member.user_id].seats.append((member.app.name, member.role))
    for user_id, issuer in Identity.objects.filter(user__in=ids).values_list("user_id", "issuer"):
        rows[user_id].providers.append(issuer)
    return list(rows.values()), users[-1].username if len(found) > size else ""
