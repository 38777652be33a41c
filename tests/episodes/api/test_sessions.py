from __future__ import annotations

from episodes.models import App, Episode
from tests.episodes.api.client import ApiClient
from tests.factories import make_body


def test_session_is_created_once(client: ApiClient, app: App) -> None:
    first = client.post("sessions", make_body())
    second = client.post("sessions", make_body())

    episode = Episode.objects.get(app=app)
    assert (first.status, second.status) == (201, 200)
    assert first.body == {
        "status": "created",
        "episode_id": str(episode.id),
        "revision": 1,
        "index_state": "pending",
        "dropped_arguments": 0,
        "outcome": "unknown",
        "outcome_source": None,
    }
    assert second.body == first.body | {"status": "unchanged"}
