"""Ctrl-C: it ends a search, never the saving of what was found, and the exit status always tells."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_seen: list[int] = []
"""The SIGINTs of the command that is running; a signal belongs to the process, so this does as well."""


def interrupted() -> bool:
    """Return whether Ctrl-C was pressed since the command began."""
    return bool(_seen)


@contextmanager
def interruptions() -> Iterator[None]:
    """Count every Ctrl-C of a command from none on, and raise it as KeyboardInterrupt."""
    _seen.clear()

    def note(number: int, frame: FrameType | None) -> None:
        _seen.append(number)
        signal.default_int_handler(number, frame)

    with _handled(note):
        yield


@contextmanager
def keeping() -> Iterator[None]:
    """Let a block that keeps a result come to its end: the first Ctrl-C in it counts, only a second one stops it."""
    before = len(_seen)

    def note(number: int, frame: FrameType | None) -> None:
        _seen.append(number)
        if len(_seen) > before + 1:
            signal.default_int_handler(number, frame)

    with _handled(note):
        yield


@contextmanager
def _handled(handler: object) -> Iterator[None]:
    before = signal.signal(signal.SIGINT, handler)  # type: ignore[arg-type]
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
