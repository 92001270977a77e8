"""Tables as aligned text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from stratagem.io.screen import ROWS, WIDTH


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
