from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command

from episodes.models.operations import Heartbeat
from memoryadmin import heartbeat

pytestmark = pytest.mark.django_db


def test_a_part_that_has_just_beaten_is_alive() -> None:
    heartbeat.beat("worker")

    call_command("alive", "worker")

    with pytest.raises(CommandError, match="no sign of life of beat"):
        call_command("alive", "beat")


def test_another_machine_does_not_speak_for_this_one() -> None:
    heartbeat.beat("worker")
    Heartbeat.objects.update(node="elsewhere")

    with pytest.raises(CommandError, match="no sign of life of worker"):
        call_command("alive", "worker")


def test_a_part_that_fell_silent_is_not_alive() -> None:
    heartbeat.beat("beat")
    silent = Heartbeat.objects.get()
    Heartbeat.objects.update(at=silent.at - timedelta(minutes=2))

    with pytest.raises(CommandError, match="no sign of life of beat"):
        call_command("alive", "beat")
