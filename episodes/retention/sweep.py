"""The sweep: deletes what is due, in batches, each whole in one transaction with its count.

Killed anywhere it has deleted whole episodes only, and says exactly how many; the next one goes on.
It makes way for live traffic: half of the time it rests, a batch shrinks when it took long, it waits
for no lock and takes only heads that nobody else has, and it rests longer while anybody waits for one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import timedelta

from django.db import DatabaseError, connection, transaction
from django.db.models import Exists, F, OuterRef, Q

from episodes.deletion import delete_episodes
from episodes.holds import keep_holds_still
from episodes.models import App, Episode, RetentionRun
from episodes.retention.due import Due, Position, Rules, due_after, read_rules
from episodes.retention.log import delete_log, log_values
from episodes.retention.preview import SAMPLE
from episodes.retention.space import reclaim
from memoryadmin.lib import clock
from memoryadmin.lib.erasable import as_eraser

EVERY = timedelta(hours=1)
BUDGET = 20.0  # seconds a task works on; it may run for 45
FIRST, SMALLEST, LARGEST = 200, 50, 1_000  # episodes a batch; of the log ten times as many
GOAL = 0.2  # seconds a batch should take
_LONGEST_REST = 2.0
_LOCK = 7_052  # with the app's id: one sweep of an app at a time, whoever runs it
LOCK_TIMEOUT = "500ms"

_WAITING = """
    SELECT EXISTS (SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock')
"""


@dataclass(slots=True)
class _Pace:
    """How many rows a batch has, by how long the last one took."""

    size: int = field(default_factory=lambda: FIRST)

    def note(self, seconds: float) -> None:
        wanted = self.size * 2 if seconds < GOAL / 2 else self.size
        if seconds > GOAL:
            wanted = int(self.size * GOAL / seconds)
        self.size = max(SMALLEST, min(LARGEST, wanted))

    def rest(self, seconds: float) -> None:
        somebody_waits = _somebody_waits()
        time.sleep(min(seconds * (4 if somebody_waits else 1), _LONGEST_REST))


@dataclass(slots=True)
class _Batch:
    """What became of one batch. `position`: None when there was nothing left."""

    position: Position | None
    gone: list[Due] = field(default_factory=list)
    n_held: int = 0
    n_busy: int = 0


def sweep_due(*, budget: float = BUDGET) -> int:
    """Go on with what is unfinished or due; return how many runs came to their end."""
    deadline = time.monotonic() + budget
    finished = 0
    unfinished = RetentionRun.objects.filter(app=OuterRef("pk"), finished_at__isnull=True)
    due = Q(swept_at__isnull=True) | Q(swept_at__lte=clock.now() - EVERY) | Exists(unfinished)
    for app in App.objects.filter(due).order_by(F("swept_at").asc(nulls_first=True), "pk"):
        if time.monotonic() >= deadline:
            break
        run = sweep_app(app=app, budget=deadline - time.monotonic())
        finished += run is not None and run.finished_at is not None
    return finished


def sweep_app(*, app: App, budget: float | None = None) -> RetentionRun | None:
    """Sweep an app, or go on with its unfinished run, for at most `budget` seconds.

    None: somebody else is at it, or nothing was due and no run is stored.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [_LOCK, app.pk])
        if cursor.fetchone() != (True,):
            return None
    try:
        deadline = None if budget is None else time.monotonic() + budget
        return _sweep(app, deadline)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [_LOCK, app.pk])


def _sweep(app: App, deadline: float | None) -> RetentionRun | None:
    app = App.objects.get(pk=app.pk)
    run = RetentionRun.objects.filter(app=app, finished_at__isnull=True).first()
    if run is not None and run.retention_version != app.retention_version:
        # what is kept by now is not deleted by what was in force when it began
        _close(run)
        run = None
    if run is None:
        run = RetentionRun.objects.create(
            app=app, as_of=clock.now(), retention_version=app.retention_version
        )
    # what it met before it was interrupted is met and counted anew
    run.n_held = run.n_busy = 0
    pace = _Pace()
    if not (_sweep_episodes(app, run, pace, deadline) and _sweep_log(app, run, pace, deadline)):
        return run
    # a change of retention since asks for a sweep of its own
    App.objects.filter(pk=app.pk, retention_version=app.retention_version).update(
        swept_at=clock.now()
    )
    return _close(run)


def _sweep_episodes(app: App, run: RetentionRun, pace: _Pace, deadline: float | None) -> bool:
    """Return whether it came to the end."""
    rules = read_rules(app, as_of=run.as_of)
    position: Position | None = None
    while True:
        began = time.monotonic()
        try:
            batch = _delete_batch(run, rules, position, size=pace.size)
        except DatabaseError:
            # a lock that was not given at once, or a child that came while its head went
            pace.size = SMALLEST
            batch = _skip_batch(run, rules, position, size=pace.size)
        if batch.position is None:
            return True
        position = batch.position
        if not _go_on(pace, began, deadline):
            return False


@transaction.atomic
def _delete_batch(
    run: RetentionRun, rules: Rules, position: Position | None, *, size: int
) -> _Batch:
    _wait_for_no_lock()
    keep_holds_still(app_id=run.app_id)
    began = time.monotonic()
    found = due_after(rules, position, limit=size)
    if not found:
        return _Batch(None)
    free = [one.id for one in found if not one.is_held]
    # in one order, and only what nobody is writing to now
    locked = list(
        Episode.objects.filter(app_id=run.app_id, id__in=free)
        .order_by("id")
        .select_for_update(skip_locked=True)
        .values_list("id", flat=True)
    )
    # as they are now that they are locked: a decision may just have been taken
    gone = (
        [one for one in due_after(rules, None, limit=size, only=locked) if not one.is_held]
        if (locked)
        else []
    )
    batch = _Batch(
        position=(found[-1].completed_at, found[-1].id),
        gone=gone,
        n_held=len(found) - len(free),
        n_busy=len(free) - len(locked),
    )
    rows: dict[str, int] = {}
    if gone:
        with as_eraser():
            rows = delete_episodes(app_id=run.app_id, episode_ids=[one.id for one in gone])
    _note(run, rules, batch, rows, seconds=time.monotonic() - began)
    return batch


@transaction.atomic
def _skip_batch(run: RetentionRun, rules: Rules, position: Position | None, *, size: int) -> _Batch:
    """Pass over what could not be deleted; the next run finds it again."""
    found = due_after(rules, position, limit=size)
    if not found:
        return _Batch(None)
    batch = _Batch((found[-1].completed_at, found[-1].id), n_busy=len(found))
    _note(run, rules, batch, {}, seconds=0.0)
    return batch


def _sweep_log(app: App, run: RetentionRun, pace: _Pace, deadline: float | None) -> bool:
    values = log_values(app, as_of=run.as_of)
    while True:
        began = time.monotonic()
        with transaction.atomic():
            _wait_for_no_lock()
            keep_holds_still(app_id=run.app_id)
            with as_eraser():
                rows = delete_log(values, limit=pace.size * 10)
            if not rows:
                return True
            _count_rows(run, rows)
            run.worked += time.monotonic() - began
            run.batches += 1
            run.save(update_fields=["stores", "worked", "batches"])
        if not _go_on(pace, began, deadline):
            return False


def _go_on(pace: _Pace, began: float, deadline: float | None) -> bool:
    took = time.monotonic() - began
    pace.note(took)
    if deadline is not None and time.monotonic() >= deadline:
        return False
    pace.rest(took)
    return True


def _note(
    run: RetentionRun, rules: Rules, batch: _Batch, rows: dict[str, int], *, seconds: float
) -> None:
    """Write what the batch did into the run, in the batch's own transaction."""
    parts = {(one["policy"], one["why"]): one["n"] for one in run.policies}
    for due in batch.gone:
        key = (rules.name_of(due.policy), due.why)
        parts[key] = parts.get(key, 0) + 1
    run.policies = [{"policy": p, "why": why, "n": n} for (p, why), n in parts.items()]
    run.sample = [*run.sample, *(str(due.id) for due in batch.gone)][:SAMPLE]
    run.n_held += batch.n_held
    run.n_busy += batch.n_busy
    run.worked += seconds
    run.batches += 1
    _count_rows(run, rows)
    run.save(
        update_fields=[
            *("policies", "sample", "n_held", "n_busy", "worked", "batches"),
            "stores",
        ]
    )


def _count_rows(run: RetentionRun, rows: dict[str, int]) -> None:
    for table, n in rows.items():
        run.stores[table] = run.stores.get(table, 0) + n


def _close(run: RetentionRun) -> RetentionRun | None:
    """One that deleted nothing is not kept: there is one every hour."""
    if not run.stores:
        run.delete()
        return None
    run.space = reclaim(run.stores, rows=sum(run.stores.values()))
    run.finished_at = max(clock.now(), run.started_at)
    run.save(update_fields=["finished_at", "space"])
    return run


def _wait_for_no_lock() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])


def _somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_WAITING)
        return bool(cursor.fetchone()[0])
