"""OpenAI chat messages: the list itself or {"messages": [...]}, in the variants that are found:
`tool_calls` of functions and custom tools, flat calls, the older `function_call`, arguments as
text or object, content as text, parts or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from episodes.ingest.answers import error_of, stated_error
from episodes.ingest.exceptions import MalformedSessionError
from episodes.ingest.foreign import read_arguments, read_id, read_moment, read_text
from episodes.ingest.goal import first_goal
from episodes.ingest.parsed import ParsedSession, ParsedStep, refuse_oversize
from episodes.ingest.registry import format_parser

_Object = Mapping[str, object]

_AGENT = ("assistant", "model")
_TOOL = ("tool", "function")


@dataclass(slots=True)
class _Sides:
    """Whose call a result answers: the simulated user of some benchmarks has tools of his own."""

    of_ids: dict[str, bool] = field(default_factory=dict)  # call id: made by the agent
    latest: bool = True

    def note(self, call_id: str | None, *, is_agents: bool) -> None:
        self.latest = is_agents
        if call_id is not None:
            self.of_ids[call_id] = is_agents

    def is_agents(self, result: _Object, call_id: str | None) -> bool:
        if result.get("requestor") is not None:
            return result["requestor"] != "user"
        return self.of_ids.get(call_id, self.latest) if call_id is not None else self.latest


@format_parser("messages")
def parse_messages(session: object) -> ParsedSession:
    envelope: _Object = session if isinstance(session, Mapping) else {}
    entries = session if isinstance(session, list) else envelope.get("messages")
    pointer = "" if isinstance(session, list) else "/messages"
    if not isinstance(entries, list):
        detail = "expected a list of messages, or an object with the list `messages`"
        raise MalformedSessionError("" if not envelope else pointer, "invalid_type", detail)
    refuse_oversize(len(entries), pointer=pointer)
    messages = [_message(entry, f"{pointer}/{index}") for index, entry in enumerate(entries)]
    times = [moment for message in messages if (moment := _moment(message)) is not None]
    return ParsedSession(
        goal=first_goal(
            read_text(message.get("content"))
            for message in messages
            if message.get("role") == "user"
        ),
        steps=tuple(_steps(messages)),
        n_events=len(messages),
        started_at=min(times, default=None),
        last_event_at=max(times, default=None),
        user_id=read_id(envelope.get("user_id")),
        session_id=read_id(envelope.get("session_id")),
    )


def _message(entry: object, pointer: str) -> _Object:
    if not isinstance(entry, Mapping):
        raise MalformedSessionError(pointer, "invalid_type", "expected a message object")
    return entry


def _moment(message: _Object) -> datetime | None:
    return read_moment(message.get("timestamp", message.get("created_at")))


def _steps(messages: list[_Object]) -> Iterator[ParsedStep]:
    sides = _Sides()
    for message in messages:
        role = message.get("role")
        for call in _calls(message):
            is_agents = role in _AGENT and call.get("requestor") != "user"
            call_id = read_id(call.get("id"))
            sides.note(call_id, is_agents=is_agents)
            if is_agents:
                yield _call(call, call_id, at=_moment(message))
        if role in _TOOL:
            call_id = _answered_id(message, sides)
            if sides.is_agents(message, call_id):
                yield _result(message, call_id)


def _calls(message: _Object) -> Iterator[_Object]:
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        yield from (call for call in calls if isinstance(call, Mapping))
    elif isinstance(older := message.get("function_call"), Mapping):
        yield {"function": older}


def _call(call: _Object, call_id: str | None, *, at: datetime | None) -> ParsedStep:
    function = call.get("function", call.get("custom"))
    named = function if isinstance(function, Mapping) else call
    name = function if isinstance(function, str) else named.get("name")
    given = next((named[key] for key in ("arguments", "args", "input") if key in named), None)
    return ParsedStep(
        "call",
        name if isinstance(name, str) else "",
        call_id=call_id,
        arguments=read_arguments(given),
        at=at,
    )


def _result(message: _Object, call_id: str | None) -> ParsedStep:
    return ParsedStep(
        "result", _tool_of(message), call_id=call_id, error=_error(message), at=_moment(message)
    )


def _answered_id(message: _Object, sides: _Sides) -> str | None:
    """`id` is the call's in some programs and the message's own in others."""
    if call_id := read_id(message.get("tool_call_id")):
        return call_id
    own_id = read_id(message.get("id"))
    return own_id if own_id in sides.of_ids else None


def _tool_of(message: _Object) -> str:
    name = message.get("name")
    if not isinstance(name, str) and isinstance(call := message.get("tool_call"), Mapping):
        name = call.get("function")
    return name if isinstance(name, str) else ""


def _error(message: _Object) -> str | None:
    content = read_text(message.get("content"))
    said = message.get("error")
    if isinstance(said, str | Mapping) and said:
        return stated_error(said)
    is_error = said is True or message.get("is_error") is True or message.get("isError") is True
    if is_error or message.get("status") in ("error", "failed"):
        return stated_error(content)
    return error_of(content)
