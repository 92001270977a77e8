"""Tables as aligned text."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(table: Sequence[Sequence[str]], words: int = 1) -> list[str]:
    """Return the lines of a table whose first columns hold words, to the left, and the others numbers."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for cells in table:
        left = [cell.ljust(width) for cell, width in zip(cells[:words], widths[:words], strict=True)]
        right = [cell.rjust(width) for cell, width in zip(cells[words:], widths[words:], strict=True)]
        lines.append("  ".join(left + right).rstrip())
    return lines
