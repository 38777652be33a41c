"""How many requests a minute a key may send, while it lives: it counts from the next request on."""

from __future__ import annotations

from django.db import transaction

from episodes import audit
from episodes.audit import Actor
from episodes.keys.issuing import KeyEndedError
from episodes.models import ApiKey
from memoryadmin.lib import clock


class LimitChangedError(Exception):
    """Somebody changed the key's limit since it was read; nothing was changed."""


@transaction.atomic
def limit_key(
    *, key: ApiKey, limit_per_minute: int | None, seen: int | None, actor: Actor
) -> ApiKey:
    """Give a key another limit; None: the installation's. The same one again records nothing.

    `seen`: the limit that the change is based on. Raises LimitChangedError, KeyEndedError.
    """
    locked = ApiKey.objects.select_for_update(no_key=True).get(pk=key.pk)
    if locked.has_ended(clock.now()):
        raise KeyEndedError(locked.prefix)
    if locked.limit_per_minute != seen:
        raise LimitChangedError(locked.prefix)
    if limit_per_minute == seen:
        return locked
    locked.limit_per_minute = limit_per_minute
    locked.save(update_fields=["limit_per_minute"])
    audit.record(
        actor=actor,
        verb="key.limited",
        target_kind="api_key",
        target_id=locked.pk,
        app=locked.app,
        before={"limit_per_minute": seen},
        after={"limit_per_minute": limit_per_minute, "prefix": locked.prefix},
    )
    return locked
