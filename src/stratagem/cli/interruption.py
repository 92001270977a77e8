"""What long commands show while they work, and how Ctrl-C ends them."""

from __future__ import annotations

import math
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, TypeVar

from stratagem.io.screen import visible
from stratagem.math.deadline import Deadline, deadline

if TYPE_CHECKING:
    from stratagem.solvers import Step

T = TypeVar("T")
PATIENCE = 2.0
"""Seconds before anything is shown."""
PULSE, INTERVAL = 0.25, 10.0
"""Seconds between two states of a bar, and between two lines where there is no terminal."""


@dataclass
class Meter:
    """How far a task is, from the steps of its search; called with every step."""

    task: str
    limit: float
    """Seconds that the search may take; infinity without a limit."""
    time: Deadline = field(default_factory=Deadline)
    searching: float | None = None
    """Seconds after which the search began, where it did."""
    words: str = ""

    def __call__(self, step: Step) -> None:
        """Take note of a step."""
        self.searching = self.time.elapsed - step.seconds
        self.words = f" start {step.start + 1}, step {step.step}, gap {100 * step.gap:.2f} %;"

    @property
    def spent(self) -> float:
        """Seconds of the search so far."""
        return 0.0 if self.searching is None else self.time.elapsed - self.searching

    def line(self) -> str:
        """Return what is done, the elapsed seconds, and how many of the limit are left."""
        elapsed, left = f"{self.task}:{self.words} {self.time.elapsed:.0f} s", ""
        if math.isfinite(self.limit) and self.searching is None:
            left = f", limit of the search {self.limit:.0f} s"
        elif math.isfinite(self.limit):
            more = self.limit - self.spent
            left = f", {more:.0f} s left" if more > 0 else ", finishing"
        return f"{elapsed}{left}"


@contextmanager
def progress(task: str) -> Iterator[Callable[[Step], None]]:
    """Show how far a task is: on a terminal a bar after two seconds, else a line on standard error every ten.

    It ends with the deadline of the command; the callback is given the steps of its search.
    """
    meter, terminal = Meter(task, deadline().left), sys.stderr.isatty()
    first, interval = (PATIENCE, PULSE) if terminal else (INTERVAL, INTERVAL)
    with (
        _bar(meter) if terminal else nullcontext(lambda: note(meter.line())) as show,
        _repeated(show, first, interval),
    ):
        yield meter


@contextmanager
def _repeated(show: Callable[[], None], first: float, interval: float) -> Iterator[None]:
    """Call a function after the first seconds, and then at intervals until the block ends."""
    done = threading.Event()

    def work() -> None:
        if not done.wait(first):
            show()
            while not done.wait(interval):
                show()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()  # never stop a bar that is just starting


def begun(work: Callable[[], T]) -> Callable[[], T]:
    """Start work in a thread that ends with the command, and return the function that waits for its result."""
    found = Future[T]()

    def run() -> None:
        try:
            found.set_result(work())
        except BaseException as error:  # noqa: BLE001
            found.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return found.result


def note(sentence: str) -> None:
    """Write a line to standard error."""
    with suppress(OSError):
        sys.stderr.write(visible(sentence) + "\n")


def note_incomplete(complete: bool) -> None:
    """Say of a line of several places that some were not reached."""
    if not complete:
        note(
            "ended by hand or by the limit of time: the places that were reached are here, the others are not"
        )


@contextmanager
def _bar(meter: Meter) -> Iterator[Callable[[], None]]:
    """Yield a function that shows a bar, towards the limit of the search where there is one."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(24))
    bar = Progress(
        *columns, console=Console(stderr=True), transient=True, redirect_stdout=False, auto_refresh=False
    )
    shown = bar.add_task(meter.task, total=None)

    def show() -> None:
        bar.start()
        total = None if meter.searching is None or meter.limit == math.inf else meter.limit
        bar.update(shown, description=meter.line(), completed=meter.spent, total=total, refresh=True)

    try:
        yield show
    finally:
        bar.stop()


HEEDED = 0.5
"""Seconds after a second Ctrl-C within which the command ends by itself, without leaving drafts of files."""
INTERRUPTED = 130
"""Exit status after Ctrl-C."""
ENDINGS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Signals by which others ask a command to end."""
_seen: list[int] = []
"""The signals of the command that is running; they belong to the process, so this does as well."""


def interrupted() -> bool:
    """Return whether Ctrl-C was pressed since the command began."""
    return signal.SIGINT in _seen


def insisted() -> bool:
    """Return whether Ctrl-C was pressed more than once since the command began."""
    return _seen.count(signal.SIGINT) > 1


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
        if len(_seen) > 1:  # raised in a destructor it would be printed, and the command would not end by it
            sys.unraisablehook = lambda _: None
        signal.default_int_handler(number, frame)

    with ExitStack() as handlers:
        handlers.callback(setattr, sys, "unraisablehook", sys.unraisablehook)
        handlers.enter_context(_insisting())
        handlers.enter_context(_handled(note))
        for ending in ENDINGS:
            if signal.getsignal(ending) is signal.SIG_DFL:
                handlers.enter_context(_handled(_end, ending))
        yield


@contextmanager
def _insisting() -> Iterator[None]:
    """End the process where a second Ctrl-C is not heeded within `HEEDED` seconds: compiled code sees none.

    A thread is told of signals by their numbers, even while the main thread is in compiled code.
    """
    ours, signals = socket.socketpair()
    signals.setblocking(False)
    done = threading.Event()

    def watch() -> None:
        presses = 0
        with ours:
            while seen := ours.recv(64):
                presses += seen.count(signal.SIGINT)
                if presses > 1 and not done.wait(HEEDED):
                    os._exit(INTERRUPTED)

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    before = signal.set_wakeup_fd(signals.fileno(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        done.set()
        signals.close()
        watching.join()


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
def stopping(stop: Callable[[], None]) -> Iterator[None]:
    """Let Ctrl-C and requests to end call `stop`: a block that serves until then ends well, and so does the command."""
    with ExitStack() as handlers:
        for number in (signal.SIGINT, *ENDINGS):
            if signal.getsignal(number) is not signal.SIG_IGN:
                handlers.enter_context(_handled(lambda *_: stop(), number))
        yield


@contextmanager
def _handled(handler: object, number: int = signal.SIGINT) -> Iterator[None]:
    before = signal.signal(number, handler)  # type: ignore[arg-type]
    try:
        yield
    finally:
        signal.signal(number, before)
