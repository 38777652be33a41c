"""Registering agent applications and what search needs to know of them."""

from __future__ import annotations

from django.db import transaction

from episodes import audit
from episodes.audit import Actor
from episodes.embedding.generations import current_generation
from episodes.models import App, RankingProfile


@transaction.atomic
def create_app(*, name: str, actor: Actor) -> App:
    """Create an app with the default ranking profile and the installation's vector generation.

    Raises IntegrityError for a name that is taken or has another shape than `billing-agent`.
    """
    app = App.objects.create(name=name, generation=current_generation())
    profile = RankingProfile.objects.create(app=app, version=1, created_by=actor.name)
    app.profile = profile
    app.save(update_fields=["profile"])
    audit.record(
        actor=actor,
        verb="app.created",
        target_kind="app",
        target_id=app.id,
        app=app,
        after={"name": name, "profile": str(profile)},
    )
    return app
