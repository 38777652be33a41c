from __future__ import annotations

import logging

import pytest
from django.db import OperationalError
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from episodes.api.problem import errors_of
from episodes.api.views import stats as view
from episodes.models import App
from tests.episodes.api.client import ApiClient
from tests.factories import make_key


def fail_with(error: Exception) -> object:
    def fail(**kwargs: object) -> None:
        raise error

    return fail


def test_unforeseen_error_is_a_problem_without_its_message(
    app: App, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(view, "count_episodes", fail_with(ValueError("secret of user-1")))
    client = ApiClient(make_key(app)[1], raise_errors=False)

    with caplog.at_level(logging.ERROR):
        answer = client.get("stats")

    assert (answer.status, answer.type) == (500, "application/problem+json")
    assert answer.errors == [("", "internal")]
    assert "ValueError" in caplog.text
    assert "secret" not in caplog.text + str(answer.body)


def test_database_that_is_down_is_503(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "count_episodes", fail_with(OperationalError("host=secret")))
    client = ApiClient(make_key(app)[1], raise_errors=False)

    answer = client.get("stats")

    assert (answer.status, answer.errors) == (503, [("", "unavailable")])
    assert answer.headers["Retry-After"] == "5"
    assert "secret" not in str(answer.body)


class Inner(serializers.Serializer[object]):
    number = serializers.IntegerField()


class Outer(serializers.Serializer[object]):
    inner = Inner()
    many = Inner(many=True)  # type: ignore[assignment]  # a member
    numbers = serializers.ListField(child=serializers.IntegerField(), max_length=2)


def test_pointers_lead_to_the_member_at_fault() -> None:
    body = {"inner": {}, "many": [{"number": 1}, {"number": "x"}], "numbers": [1, "y"]}

    with pytest.raises(ValidationError) as caught:
        Outer().run_validation(body)

    assert [(error["pointer"], error["code"]) for error in errors_of(caught.value)] == [
        ("/inner/number", "required"),
        ("/many/1/number", "invalid"),
        ("/numbers/1", "invalid"),
    ]


def test_pointers_are_escaped() -> None:
    error = ValidationError({"a/b~c": ["wrong"], "non_field_errors": ["whole"]})

    assert [error["pointer"] for error in errors_of(error)] == ["/a~1b~0c", ""]


def test_error_of_a_bare_validation_has_no_pointer() -> None:
    assert errors_of(ValidationError("wrong", code="odd")) == [
        {"pointer": "", "code": "odd", "detail": "wrong"}
    ]
