"""What long commands show while they work, and how Ctrl-C ends them."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING

from stratagem.io.screen import visible

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from stratagem.solvers import Step

PATIENCE = 2.0
"""Seconds before anything is shown."""


@contextmanager
def progress(task: str) -> Iterator[Callable[[Step], None]]:
    """Show a bar after two seconds if standard error is a terminal; the callback describes steps."""
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    bar, shown = _bar(task)

    def describe(step: Step) -> None:
        words = f"{task}: start {step.start + 1}, step {step.step}, {100 * step.gap:.2f} % above the bound"
        bar.update(shown, description=words)

    timer = threading.Timer(PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield describe
    finally:
        timer.cancel()
        timer.join()  # never stop a bar that is just starting
        bar.stop()


def note(sentence: str) -> None:
    """Write a line to standard error."""
    with suppress(OSError):
        sys.stderr.write(visible(sentence) + "\n")


def _bar(task: str) -> tuple[Progress, TaskID]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(24), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False)
    return bar, bar.add_task(task, total=None)


ENDINGS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Signals by which others ask a command to end."""
_seen: list[int] = []
"""The signals of the command that is running; they belong to the process, so this does as well."""


def interrupted() -> bool:
    """Return whether Ctrl-C was pressed since the command began."""
    return signal.SIGINT in _seen


def ended() -> int | None:
    """Return the signal by which others asked the command to end, None where nobody did."""
    return next((number for number in _seen if number in ENDINGS), None)


@contextmanager
def interruptions() -> Iterator[None]:
    """Count every Ctrl-C of a command from none on, and raise it as KeyboardInterrupt.

    A request to end (SIGTERM, SIGHUP) is raised as SystemExit with 128 more than its number, so that files that
    are not complete are removed; one that is ignored, as under nohup, stays so.
    """
    _seen.clear()

    def note(number: int, frame: FrameType | None) -> None:
        _seen.append(number)
        signal.default_int_handler(number, frame)

    with ExitStack() as handlers:
        handlers.enter_context(_handled(note))
        for ending in ENDINGS:
            if signal.getsignal(ending) is signal.SIG_DFL:
                handlers.enter_context(_handled(_end, ending))
        yield


def _end(number: int, frame: FrameType | None) -> None:
    _seen.append(number)
    raise SystemExit(128 + number)


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
def _handled(handler: object, number: int = signal.SIGINT) -> Iterator[None]:
    before = signal.signal(number, handler)  # type: ignore[arg-type]
    try:
        yield
    finally:
        signal.signal(number, before)
