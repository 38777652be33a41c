from __future__ import annotations


class MalformedSessionError(Exception):
    """The session cannot be read. `pointer` is a JSON pointer relative to the session."""

    def __init__(self, pointer: str, code: str, detail: str) -> None:
        super().__init__(f"{pointer or '/'}: {detail}")
        self.pointer = pointer
        self.code = code
        self.detail = detail


class SessionTooLargeError(MalformedSessionError):
    """More events than one session may have (413)."""


class UnknownFormatError(Exception):
    def __init__(self, name: str) -> None:
        super().__init__(f"unknown format {name!r}")
        self.name = name


class InvalidWhitelistError(Exception):
    """`pointer` is a JSON pointer into the rules."""

    def __init__(self, pointer: str, detail: str) -> None:
        super().__init__(f"{pointer or '/'}: {detail}")
        self.pointer = pointer
        self.detail = detail
