"""A transcript in the formats that real programs send. Pure.

The foreign ones carry raw tool output, chat and scratch state along, as real ones do: what of it
is kept is the server's decision.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from memoryadmin.demo.transcript import Move, Transcript

_SYSTEM = "You are a careful agent. Search your memory for precedent before you act."
_HELLO = "Let me look into this."


def as_episode(transcript: Transcript) -> dict[str, Any]:
    session: dict[str, Any] = {"goal": transcript.goal, "steps": []}
    for move in transcript.moves:
        call = {"kind": "call", "tool": move.tool, "call_id": move.call_id}
        session["steps"].append({**call, "arguments": move.arguments, "at": move.at.isoformat()})
        if move.answered_at is None:
            continue
        result: dict[str, Any] = {**call, "kind": "result", "at": move.answered_at.isoformat()}
        if move.error:
            result |= {"error": move.error, "important": True}
        elif move.said:
            result["summary"] = move.said
        session["steps"].append(result)
    for name in ("resolution", "lesson"):
        if text := getattr(transcript, name):
            session[name] = text
    return session


def as_messages(transcript: Transcript) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": _SYSTEM}]
    said = (transcript.greeting, transcript.goal) if transcript.greeting else (transcript.goal,)
    for text in said:
        messages.append(_message("user", transcript.began, content=text))
    for number, move in enumerate(transcript.moves):
        function = {"name": move.tool, "arguments": json.dumps(move.arguments)}
        calls = [{"id": move.call_id, "type": "function", "function": function}]
        content = None if number else _HELLO
        messages.append(_message("assistant", move.at, content=content, tool_calls=calls))
        if move.answered_at is not None:
            answer = json.dumps(_raw_answer(move, transcript.contact))
            messages.append(
                _message("tool", move.answered_at, tool_call_id=move.call_id, content=answer)
            )
    if transcript.resolution:
        messages.append(_message("assistant", transcript.ended, content=transcript.resolution))
    return {"messages": messages}


def _message(role: str, at: datetime, **members: Any) -> dict[str, Any]:
    return {"role": role, "timestamp": at.timestamp(), **members}


def as_adk(
    transcript: Transcript,
    *,
    app_name: str,
    user_id: str,
    session_id: str,
    outcomes: tuple[str, ...] = (),
    java: bool = False,
) -> dict[str, Any]:
    """`outcomes` are what tools wrote into the state, in order. `java`: times in milliseconds."""
    events = list(_adk_events(transcript, outcomes))
    for number, event in enumerate(events):
        event["id"] = f"{session_id}-{number}"
        event["invocationId"] = f"e-{session_id}"
        if java:
            event["timestamp"] = int(event["timestamp"] * 1000)
    state: dict[str, Any] = {"temp:scratch": "three candidates, first one looks right"}
    if outcomes:
        state["task.outcome"] = outcomes[-1]
    return {
        "id": session_id,
        "appName": app_name,
        "userId": user_id,
        "state": state,
        "events": events,
        "lastUpdateTime": events[-1]["timestamp"],
    }


def _adk_events(transcript: Transcript, outcomes: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for text in filter(None, (transcript.greeting, transcript.goal)):
        yield _event("user", transcript.began, {"text": text})
    for move in transcript.moves:
        call = {"id": move.call_id, "name": move.tool}
        yield _event("agent", move.at, {"functionCall": {**call, "args": move.arguments}})
        if move.answered_at is not None:
            answer = _raw_answer(move, transcript.contact)
            yield _event(
                "agent", move.answered_at, {"functionResponse": {**call, "response": answer}}
            )
    for outcome in outcomes or (None,):
        closing = _event("agent", transcript.ended, {"text": transcript.resolution or "Done."})
        if outcome:
            closing["actions"] = {"stateDelta": {"task.outcome": outcome}}
        yield closing


def _event(author: str, at: datetime, part: dict[str, Any]) -> dict[str, Any]:
    role = "user" if author == "user" or "functionResponse" in part else "model"
    content = {"role": role, "parts": [part]}
    return {"author": author, "timestamp": at.timestamp(), "content": content}


def _raw_answer(move: Move, contact: str) -> dict[str, Any]:
    """Return what a tool really answers: more than anybody should keep."""
    if move.error:
        return {"error": {"code": move.error, "message": f"{move.error}: refused for {contact}"}}
    return {"status": "ok", "detail": move.said, "owner": {"email": contact, "notes": move.said}}
