"""A log line names neither a subject nor what one wrote."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.conf import settings
from django.db import IntegrityError, OperationalError
from django.test import Client, RequestFactory
from django.urls import resolve

from memoryadmin.log_lines import WithoutValues


@pytest.fixture
def log() -> Iterator[StringIO]:
    written = StringIO()
    handler = logging.StreamHandler(written)
    handler.addFilter(WithoutValues())
    loggers = [logging.getLogger(name) for name in ("django.request", "tests.log")]
    before = [(logger.handlers, logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.handlers, logger.propagate = [handler], False
    yield written
    for logger, (handlers, propagate) in zip(loggers, before, strict=True):
        logger.handlers, logger.propagate = handlers, propagate


def test_an_address_is_named_by_its_route(log: StringIO) -> None:
    request = RequestFactory().delete("/api/v1/users/jane-4471")
    request.resolver_match = resolve("/api/v1/users/jane-4471")

    logging.getLogger("django.request").error(
        "%s: %s", "Service Unavailable", request.path, extra={"request": request}
    )

    assert log.getvalue() == "Service Unavailable: api/v1/users/<path:user_id>\n"


def test_an_outage_does_not_log_the_subject(log: StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    def down(raw: str, **asked: Any) -> None:
        raise OperationalError("no connection for jane-4471")

    monkeypatch.setattr("episodes.keys.lookup.authenticate", down)

    answer = Client().delete("/api/v1/users/jane-4471", headers={"Authorization": "Bearer mem_a_b"})

    assert answer.status_code == 503
    assert "users/<path:user_id>" in log.getvalue()
    assert "jane" not in log.getvalue()


def test_of_an_error_its_class_and_place_are_told(log: StringIO) -> None:
    try:
        raise IntegrityError("Key (user_id)=(jane-4471) already exists.")
    except IntegrityError:
        logging.getLogger("tests.log").exception("it failed for %s rows", 3)

    assert log.getvalue().startswith("it failed for 3 rows: django.db.utils.IntegrityError at ")
    assert "test_log_lines.py" in log.getvalue()
    assert "jane" not in log.getvalue()


def test_every_line_of_ours_goes_through_it() -> None:
    told: Any = settings.LOGGING
    assert told["handlers"]["stderr"]["filters"] == ["without_values"]
    assert told["root"]["handlers"] == ["stderr"]
