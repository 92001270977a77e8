"""Texts that objects show at a prompt and in a notebook, limited to the size of a screen."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields, is_dataclass
from itertools import accumulate
from typing import Any

from stratagem.io.markup import table

WIDTH = 100
"""Largest number of columns (characters) in a line."""
LONGEST = 32
"""Largest number of characters of one value."""
ROWS = 16
"""Largest number of rows of a table."""


def visible(text: str) -> str:
    r"""Return a text in one line in which no character commands a terminal or turns the direction of others.

    Whatever is neither printable nor a space becomes the escape that Python writes.

    >>> visible("a\x1b[2J\n")
    'a\\x1b[2J\\n'
    """
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or unicodedata.category(character) == "Zs"
        else character.encode("unicode_escape").decode()
        for character in text
    )


def brief(self: Any) -> str:
    """Return the class and the fields of a dataclass in one line; arrays and collections by their size."""
    text, left = f"{type(self).__name__}(", ""
    for part in (f"{field.name}={_value(getattr(self, field.name))}" for field in fields(self) if field.repr):
        if len(text) + len(left) + len(part) > WIDTH - 7:
            return f"{text}, ...)"
        text, left = text + left + part, ", "
    return f"{text})"


def html_table(caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> str:
    """Return a table as HTML for a notebook, every text escaped, the colours those of the page around it."""
    shown = list(rows)
    left = f" (the first {ROWS} of {len(shown):,})" if len(shown) > ROWS else ""
    return table(f"{caption}{left}", headings, shown[:ROWS], words)


def _value(value: Any) -> str:
    if getattr(value, "shape", None) is not None:
        return f"array {value.shape}"
    if isinstance(value, Collection) and not isinstance(value, str):
        return f"{len(value)} of {type(value).__name__}"
    if is_dataclass(value):
        return type(value).__name__
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def aligned(table: Sequence[Sequence[str]], words: int = 1, most: int = ROWS) -> list[str]:
    """Return the lines of an aligned text table: its first columns hold words, aligned left, the others numbers.

    What does not fit a screen is left out: columns from the right, and rows after the first `most`.
    """
    left_out = len(table) - 1 - most
    table = [row[: _columns(table)] for row in table[: most + 1]]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for cells in table:
        left = [cell.ljust(width) for cell, width in zip(cells[:words], widths[:words], strict=True)]
        right = [cell.rjust(width) for cell, width in zip(cells[words:], widths[words:], strict=True)]
        lines.append("  ".join(left + right).rstrip())
    return [*lines, f"... {left_out} more rows"] if left_out > 0 else lines


def _columns(table: Sequence[Sequence[str]]) -> int:
    """Return how many columns fit a screen, one at least."""
    ends = accumulate(max(map(len, column)) + 2 for column in zip(*table, strict=True))
    return max(1, sum(end - 2 <= WIDTH for end in ends))
