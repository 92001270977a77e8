"""Records of what a collection took and noticed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Taken:
    """The record of one file, as given to callbacks."""

    path: Path
    rows: int
    """Rows or lines taken from it now, reports or not."""
    before: bool
    """Whether the same file had been taken before, so that nothing was taken now."""
    copy_of: str | None
    """An earlier file with the same content, or which a file without ids begins with: its reports came again."""
    anonymous: bool
    """Whether there are reports without ids among those taken now."""
    done: int
    """Files done, this one included."""
    files: int
    """Files given."""


@dataclass(frozen=True)
class Contested:
    """An id that was received with several outputs: somebody copied it, or a client used it twice."""

    id: str
    files: tuple[str, ...]
    """Files that hold reports with it, in the order in which they were taken; at most 8."""
