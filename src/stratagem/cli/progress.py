"""A sign of life on standard error for work that lasts."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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
