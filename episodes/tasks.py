"""Doorbells: each rings for work that the database already knows of, and is safe to ring twice."""

from __future__ import annotations

from celery import shared_task


@shared_task(name="episodes.embed_due")
def embed_due() -> int:
    from episodes.embedding.pipeline import embed_due as work

    return work()


@shared_task(name="episodes.close_idle")
def close_idle() -> int:
    from episodes.ingest.idle import close_idle as work

    return work()


@shared_task(name="episodes.purge_idempotency")
def purge_idempotency() -> int:
    from episodes.idempotency import purge_expired

    return purge_expired()


@shared_task(name="episodes.purge_key_uses")
def purge_key_uses() -> int:
    from episodes.keys.uses import purge_uses

    return purge_uses()


@shared_task(name="episodes.sweep_retention")
def sweep_retention() -> int:
    from episodes.retention.sweep import sweep_due

    return sweep_due()


@shared_task(name="episodes.checkpoint_audit")
def checkpoint_audit() -> None:
    from episodes.audit.checkpoints import write_checkpoint

    write_checkpoint()


@shared_task(name="episodes.verify_audit")
def verify_audit() -> bool:
    from episodes.audit.verifications import verify_due

    return verify_due()


@shared_task(name="episodes.cut_audit")
def cut_audit() -> int:
    from episodes.audit.cutting import cut_due

    return cut_due()


@shared_task(name="episodes.run_erasures")
def run_erasures() -> int:
    from episodes.erasure.run import run_erasures as work

    return work()


@shared_task(name="episodes.purge_accounts")
def purge_accounts() -> int:
    from episodes.accounts.purge import purge_accounts as work

    return work()
