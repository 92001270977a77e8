"""What commands write: tables and sentences for people, one JSON object for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn


def write_json(data: dict[str, Any]) -> None:
    """Write exactly one JSON object to standard output.

    Raises:
        ValueError: for NaN or infinity, which JSON does not have.
    """
    sys.stdout.write(json.dumps(data, indent=2, allow_nan=False) + "\n")


def write(text: str = "") -> None:
    """Write a line of text to standard output, as it is."""
    sys.stdout.write(text + "\n")


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
        table.add_column(heading, justify="left" if place < words else "right", overflow="fold")
    for place, row in enumerate(rows):
        table.add_row(*map(Text, row), style="bold" if place == bold else "")
    if not console.is_terminal:
        console.width = 160
    console.print(table)


def read_count(count: int) -> str:
    """Return a whole number for reading: with separators, or a power of ten when nobody would read the digits."""
    from stratagem.number import count_text

    return f"{count:,}" if abs(count) < 10**15 else count_text(count)


def fail(sentence: str, status: int = 2) -> NoReturn:
    """Write one sentence to standard error and exit."""
    sys.stdout.flush()
    sys.stderr.write(f"stratagem: {' '.join(sentence.split())}\n")
    sys.exit(status)
