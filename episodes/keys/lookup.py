"""Whose key it is: one statement that also counts the request.

Nothing is cached: a revoked key is refused at its next request, in every process.
"""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass
from uuid import UUID

import orjson
from django.conf import settings

from episodes.keys.issuing import hash_secret
from episodes.ranking import Generation, Profile
from episodes.retention.expiry import Retention, Rule, read_rules
from memoryadmin.lib import clock, row_scope
from memoryadmin.lib.prepared import Row, fetch_all

_SHAPE = re.compile(r"mem_([a-z0-9]{1,16})_([A-Za-z0-9_-]{16,128})")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who holds the key, and all that a request needs to know of their app."""

    key_id: UUID
    prefix: str
    app_id: int
    app_name: str
    scopes: frozenset[str]
    demands_subject_token: bool
    limit_per_minute: int
    used: int  # requests of this key in this minute, this one included
    profile: Profile
    generation: Generation | None
    retention_days: int
    control_share: float
    retention_rules: tuple[Rule, ...] = ()
    # the key before it while that still works: tokens that were signed for it are taken, too
    predecessor_id: UUID | None = None

    @property
    def retention(self) -> Retention:
        return Retention(self.retention_days, self.retention_rules)

    @property
    def signed_for(self) -> tuple[UUID, ...]:
        """The keys whose subject tokens are taken with this one."""
        return (self.key_id, self.predecessor_id) if self.predecessor_id else (self.key_id,)

    def may(self, scope: str) -> bool:
        return scope in self.scopes


def authenticate(raw: str, *, route: str = "", walled: bool = False) -> Caller | None:
    """Return the caller of a key that is valid now, and count the request; None otherwise.

    `route`: the method and the pattern of the address, which the request is counted under.
    `walled`: from this statement on the request sees the rows of the key's app only
    (memoryadmin/lib/row_scope.py).
    """
    shape = _SHAPE.fullmatch(raw)
    if shape is None:
        return None
    hashed = hash_secret(shape[2])
    now = clock.now()
    if walled:
        row_scope.expect()
    rows = fetch_all(
        _WALLED_LOOKUP if walled else _LOOKUP,
        {
            "prefix": shape[1],
            "secret_hash": hashed,
            "now": now,
            "minute": now.replace(second=0, microsecond=0),
            "route": route,
            "default_limit": settings.REQUESTS_PER_MINUTE,
        },
    )
    if walled and rows:
        row_scope.took_on(before=rows[0][_ROLE_BEFORE], app_id=rows[0][_APP_ID])
    elif walled:
        row_scope.took_nothing_on()
    # the statement has compared the hashes to count only its owner's requests; this is the check
    if not rows or not hmac.compare_digest(bytes(rows[0][1]), hashed):
        return None
    return _caller(rows[0])


# A request with a wrong secret neither counts nor shows as a use; one of a key that has ended counts
# as refused. The count is the row's own lock, so it holds across processes; its table is unlogged, so
# nobody waits for a flush. The key row is touched once a minute, with the first request of a window,
# which also moves the windows before into the counts of their day: by the holder of the new window's
# row alone, and never two in another order, so that nobody waits for whoever waits for them.
_LOOKUP_AND = """
WITH found AS MATERIALIZED (
    SELECT *, revoked_at IS NULL AND (expires_at IS NULL OR expires_at > %(now)s) AS is_valid,
        {before} AS role_before
    FROM episodes_apikey WHERE prefix = %(prefix)s AND secret_hash = %(secret_hash)s
), counted AS (
    INSERT INTO episodes_ratewindow AS w (key_id, minute, n, routes, refused)
    SELECT id, %(minute)s, is_valid::int, jsonb_build_object(%(route)s::text, 1),
        CASE WHEN is_valid THEN jsonb_build_object()
            ELSE jsonb_build_object('401 ' || %(route)s::text, 1) END
    FROM found
    ON CONFLICT (key_id, minute) DO UPDATE SET
        n = w.n + excluded.n,
        routes = w.routes || jsonb_build_object(
            %(route)s::text, coalesce((w.routes ->> %(route)s::text)::int, 0) + 1),
        refused = CASE
            WHEN excluded.n = 0 THEN w.refused || jsonb_build_object('401 ' || %(route)s::text,
                coalesce((w.refused ->> ('401 ' || %(route)s::text))::int, 0) + 1)
            WHEN w.n >= (SELECT coalesce(limit_per_minute, %(default_limit)s) FROM found)
            THEN w.refused || jsonb_build_object('429 ' || %(route)s::text,
                coalesce((w.refused ->> ('429 ' || %(route)s::text))::int, 0) + 1)
            ELSE w.refused END
    RETURNING w.key_id, w.n, w.xmax = 0 AS is_new
), dropped AS (
    DELETE FROM episodes_ratewindow w USING counted
    WHERE counted.is_new AND w.key_id = counted.key_id AND w.minute < %(minute)s
    RETURNING w.minute, w.routes, w.refused
), kept AS (
    INSERT INTO episodes_keyuse AS u (app_id, key_id, day, route, status, n)
    SELECT found.app_id, found.id, (d.minute AT TIME ZONE 'UTC')::date, said.route, said.status,
        sum(said.n)
    FROM found CROSS JOIN dropped d CROSS JOIN LATERAL (
        SELECT key AS route, 0 AS status, value::int AS n FROM jsonb_each_text(d.routes)
        UNION ALL
        SELECT substr(key, 5), left(key, 3)::int, value::int FROM jsonb_each_text(d.refused)
    ) said
    GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT (key_id, day, route, status) DO UPDATE SET n = u.n + excluded.n
), held AS (
    SELECT * FROM found WHERE is_valid
), touched AS (
    UPDATE episodes_apikey k SET last_used_at = %(now)s FROM held CROSS JOIN counted
    WHERE k.id = held.id AND counted.is_new
)
SELECT held.id, held.secret_hash, held.prefix, held.scopes, held.demands_subject_token,
    held.limit_per_minute, counted.n, app.id, app.name, app.retention_days, app.control_share,
    p.name, p.version, p.success, p.partial, p.failure, p.escalated, p.unknown, p.abandoned,
    p.toolset_current, p.toolset_other, p.toolset_unknown, p.decay_days, p.identifier_weight,
    p.text_weight, coalesce(p.minimum, g.minimum, 0), p.text_minimum,
    coalesce(p.failure_threshold, g.failure_threshold, 1), p.max_results, p."window",
    g.id, g.name, g.dimensions, g.minimum, g.failure_threshold, app.retention_rules::text,
    (SELECT b.id FROM episodes_apikey b
        WHERE held.demands_subject_token AND b.id = held.predecessor_id
            AND b.revoked_at IS NULL AND b.expires_at > %(now)s){more}
FROM held CROSS JOIN counted
JOIN episodes_app app ON app.id = held.app_id
JOIN episodes_rankingprofile p ON p.id = app.profile_id AND p.app_id = app.id
LEFT JOIN episodes_vectorgeneration g ON g.id = app.generation_id
"""
_LOOKUP = _LOOKUP_AND.format(before="NULL", more="")
_WALLED_LOOKUP = _LOOKUP_AND.format(
    before=row_scope.ROLE_BEFORE,
    more=f", held.role_before, {row_scope.TAKE_ON.format(app='app.id')}",
)
_APP_ID, _ROLE_BEFORE = 7, 37
_PROFILE = slice(11, 30)
_GENERATION = slice(30, 35)


def _caller(row: Row) -> Caller:
    key_id, _, prefix, scopes, demands, limit, used, app_id, app_name, days, share = row[:11]
    return Caller(
        key_id=key_id,
        prefix=prefix,
        app_id=app_id,
        app_name=app_name,
        scopes=frozenset(scopes),
        demands_subject_token=demands,
        limit_per_minute=settings.REQUESTS_PER_MINUTE if limit is None else limit,
        used=used,
        profile=Profile(*row[_PROFILE]),
        generation=None if row[30] is None else Generation(*row[_GENERATION]),
        retention_days=days,
        control_share=share,
        retention_rules=read_rules(orjson.loads(row[35])),
        predecessor_id=row[36],
    )
