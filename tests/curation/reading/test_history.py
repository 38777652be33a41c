"""What a page tells of an act is what the audit tells of it."""

from __future__ import annotations

from django.db import transaction

from curation.reading.history import list_acts
from episodes import audit
from episodes.models import App, Member
from tests.factories import ACTOR


def test_removed_fields_are_told_and_no_value_is_python(app: App) -> None:
    with transaction.atomic():
        audit.record(
            actor=ACTOR,
            verb="thing.changed",
            target_kind="thing",
            target_id="t",
            app=app,
            before={"rules": {"least": 1}, "note": "gone"},
            after={"rules": {"least": 2}, "parts": [{"a": None}]},
        )

    [act] = list_acts(member=Member(app=app), target_kind="thing", target_id="t", cursor=None).rows

    assert [(one.name, one.before, one.after) for one in act.fields] == [
        ("note", "gone", None),
        ("rules.least", "1", "2"),
        ("parts", None, '[\n {\n  "a": null\n }\n]'),
    ]
