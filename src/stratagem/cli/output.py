"""What commands write: tables and sentences for people, one JSON object for programs."""

from __future__ import annotations

import ast
import errno
import io
import json
import os
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from stratagem.io.screen import visible


def write_json(data: dict[str, Any]) -> None:
    """Write exactly one JSON object to standard output.

    Raises:
        ValueError: for NaN or infinity, which JSON does not have.
    """
    put(json.dumps(data, indent=2, allow_nan=False) + "\n")


def write(text: str = "") -> None:
    """Write lines of text to standard output; nothing in them commands a terminal."""
    put("\n".join(map(visible, text.split("\n"))) + "\n")


def put(text: str) -> None:
    """Write a text to standard output, as it is.

    Raises:
        ValueError: if nobody reads it any more, or its disk is full.
    """
    try:
        sys.stdout.write(text)
    except OSError as error:
        raise lost(error) from None


def flush() -> None:
    """Hand on what was written to standard output.

    Raises:
        ValueError: if nobody reads it any more, or its disk is full.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        raise lost(error) from None


def lost(error: OSError) -> ValueError:
    """Return what to say of a standard output that takes no more, and let the rest go nowhere."""
    with suppress(OSError, io.UnsupportedOperation):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    if error.errno == errno.EPIPE:
        return ValueError(
            "nobody read the output to its end: let its reader take all of it, or write to a file"
        )
    return ValueError(f"the output cannot be written ({error.strerror or error}): send it to another place")


def check_streams() -> None:
    """Let a closed input be empty and closed errors go nowhere; refuse a closed output before any work.

    Raises:
        ValueError: where standard output is closed.
    """
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open()  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115
        raise ValueError(
            "standard output is closed, so that no result can be told: send it to a file or a terminal"
        )


def write_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1, bold: int | None = None
) -> None:
    """Write a table whose first `words` columns hold text and the others numbers; row `bold` stands out."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(
            Text(visible(heading)), justify="left" if place < words else "right", overflow="fold"
        )
    for place, row in enumerate(rows):
        table.add_row(*(Text(visible(cell)) for cell in row), style="bold" if place == bold else "")
    if not console.is_terminal:
        console.width = 160
    try:
        with console.capture() as captured:
            console.print(table)
    except OSError as error:  # what was written before did not arrive
        raise lost(error) from None
    put(captured.get())


def read_count(count: int) -> str:
    """Return a whole number for reading: with separators, or a power of ten when nobody would read the digits."""
    from stratagem.math.number import count_text

    return f"{count:,}" if abs(count) < 10**15 else count_text(count)


def fail(sentence: str, status: int = 2) -> NoReturn:
    """Write one sentence to standard error and exit."""
    with suppress(ValueError):
        flush()
    with suppress(OSError):
        sys.stderr.write(f"stratagem: {visible(' '.join(sentence.split()))}\n")
    sys.exit(status)


OPTIONS = {
    "at_most": "--at-most ",
    "domain": "--domain ",
    "edges": "--edges=",  # may begin with a minus sign
    "labels": "--labels ",
    "missing": "--missing ",
}
"""The options that are given in place of keyword arguments which errors advise."""
LIMIT = re.compile(r"\bmax_seconds\b")
ADVICE = re.compile(rf"\b({'|'.join(OPTIONS)})=('[^']*'|\"[^\"]*\"|\d+)")


def translated(sentence: str) -> str:
    """Return a sentence with options in place of keyword arguments: domain='2^6' becomes --domain '2^6'."""
    return ADVICE.sub(_option, LIMIT.sub("--seconds", sentence))


def _option(found: re.Match[str]) -> str:
    name, literal = found.groups()
    try:
        return f"{OPTIONS[name]}{shlex.quote(str(ast.literal_eval(literal)))}"
    except (SyntaxError, ValueError):  # a backslash in somebody's own text
        return found[0]
