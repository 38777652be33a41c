"""Sessions of google-adk, as Python and Java write them and as they looked before release, and
bare lists of their events. Of the state nothing is kept but `task.outcome`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from episodes.ingest.adk_events import NOTHING, Object, field_of, live_events, moment_of
from episodes.ingest.answers import error_of
from episodes.ingest.error_tokens import ERROR, as_token
from episodes.ingest.exceptions import MalformedSessionError
from episodes.ingest.foreign import read_arguments, read_id, read_moment, read_text
from episodes.ingest.goal import first_goal
from episodes.ingest.parsed import ParsedSession, ParsedStep, refuse_oversize
from episodes.ingest.registry import format_parser

_OUTCOME = "task.outcome"

# Calls that the framework makes about itself: handing over, asking the user's leave, ending a
# loop, giving the answer its form. Reading memory too: otherwise the same work done with and
# without precedent would be two procedures. Java has some of these in camelCase.
_FRAMEWORK = re.compile(
    r"adk_?request_?\w+|transfer_?to_?agent|exit_?loop|set_?model_?response|(?:pre)?load_?memory",
    re.IGNORECASE,
)


@format_parser("adk")
def parse_adk(session: object) -> ParsedSession:
    body, events = _envelope(session)
    live, n_events = live_events(events)
    times = [moment for event in live if (moment := moment_of(event)) is not None]
    return ParsedSession(
        goal=first_goal(read_text(parts) for event in live if (parts := _user_parts(event))),
        steps=tuple(_steps(live)),
        n_events=n_events,
        outcomes=_outcomes(live, body),
        started_at=min(times, default=None),
        last_event_at=max(times, default=read_moment(field_of(body, "lastUpdateTime"))),
        user_id=read_id(field_of(body, "userId")),
        session_id=read_id(body.get("id")),
        app_name=read_id(field_of(body, "appName")),
    )


def _envelope(session: object) -> tuple[Object, list[Object]]:
    body = session if isinstance(session, Mapping) else NOTHING
    events = session if isinstance(session, list) else body.get("events")
    pointer = "" if isinstance(session, list) or not body else "/events"
    if any(field_of(body, name) is not None for name in ("evalCases", "evalSetId", "evalId")):
        raise _not_a_session("an EvalSet")
    if not isinstance(events, list):
        detail = "expected a Session with a list `events`, or a list of events"
        raise MalformedSessionError(pointer, "invalid_type", detail)
    refuse_oversize(len(events), pointer=pointer)
    for index, event in enumerate(events):
        if not isinstance(event, Mapping):
            raise MalformedSessionError(f"{pointer}/{index}", "invalid_type", "expected an event")
        if "author" not in event and ("query" in event or "data" in event):
            raise _not_a_session("a list of test cases")
    return body, events


def _not_a_session(what: str) -> MalformedSessionError:
    detail = f"{what} says what is expected of an agent, not what happened"
    return MalformedSessionError("", "not_a_session", detail)


def _user_parts(event: Object) -> list[object]:
    """Author decides who spoke; the role of tool results is `user` as well."""
    return _parts(event) if event.get("author") == "user" else []


def _parts(event: Object) -> list[object]:
    content = event.get("content")
    parts = content.get("parts") if isinstance(content, Mapping) else content
    if isinstance(parts, str):
        return [parts]
    return parts if isinstance(parts, list) else []


def _steps(events: list[Object]) -> Iterator[ParsedStep]:
    framework_ids: set[str] = set()
    long_running: set[str] = set()
    for event in events:
        long_running |= _ids(field_of(event, "longRunningToolIds"))
        for part in _parts(event):
            if not isinstance(part, Mapping):
                continue
            call, answer = field_of(part, "functionCall"), field_of(part, "functionResponse")
            if isinstance(call, Mapping):
                if _FRAMEWORK.fullmatch(_name(call)):
                    framework_ids |= _ids([call.get("id")])
                else:
                    yield _call(call, event)
            if isinstance(answer, Mapping) and not _is_framework_answer(answer, framework_ids):
                yield _result(answer, event, long_running)
        if code := field_of(event, "errorCode"):
            yield ParsedStep("observation", error=as_token(code) or ERROR, at=moment_of(event))


def _is_framework_answer(answer: Object, framework_ids: set[str]) -> bool:
    """By name, and only without one by id: ids are used again for other calls."""
    if name := _name(answer):
        return _FRAMEWORK.fullmatch(name) is not None
    return not framework_ids.isdisjoint(_ids([answer.get("id")]))


def _ids(values: object) -> set[str]:
    found = map(read_id, values) if isinstance(values, list) else ()
    return {value for value in found if value is not None}


def _call(call: Object, event: Object) -> ParsedStep:
    return ParsedStep(
        "call",
        _name(call),
        call_id=read_id(call.get("id")),
        arguments=read_arguments(call.get("args")),
        at=moment_of(event),
    )


def _result(answer: Object, event: Object, long_running: set[str]) -> ParsedStep:
    call_id = read_id(answer.get("id"))
    said = answer.get("response")
    error = _open_question(call_id, event) or error_of(said)
    if call_id in long_running and isinstance(said, Mapping) and said.get("status") == "pending":
        error = "pending"  # the first of two answers; counts if it is the last
    return ParsedStep("result", _name(answer), call_id=call_id, error=error, at=moment_of(event))


def _name(call: Object) -> str:
    name = call.get("name")
    return name if isinstance(name, str) else ""


def _open_question(call_id: str | None, event: Object) -> str | None:
    """The framework answers for a tool that may not run yet; the tool's own answer comes later."""
    actions = field_of(event, "actions")
    for name, token in (
        ("requestedToolConfirmations", "confirmation_required"),
        ("requestedAuthConfigs", "authorization_required"),
    ):
        asked = field_of(actions, name) if isinstance(actions, Mapping) else None
        if isinstance(asked, Mapping) and call_id in asked:
            return token
    return None


def _outcomes(events: list[Object], body: Object) -> tuple[object, ...]:
    """As the events wrote it, in order; where none did, as the state has it.

    A value that came in with a message of the user was said before the work was done: it is no
    outcome, and the state that shows it is no other voice.
    """
    written = [(event, delta[_OUTCOME]) for event in events if _OUTCOME in (delta := _delta(event))]
    if written:
        return tuple(value for event, value in written if not _user_parts(event))
    state = body.get("state", body.get("context"))
    return (state[_OUTCOME],) if isinstance(state, Mapping) and _OUTCOME in state else ()


def _delta(event: Object) -> Object:
    actions, options = event.get("actions"), event.get("options")
    delta = field_of(actions, "stateDelta") if isinstance(actions, Mapping) else None
    if delta is None and isinstance(options, Mapping):  # before release
        delta = options.get("update_context")
    return delta if isinstance(delta, Mapping) else NOTHING
