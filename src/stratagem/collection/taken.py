"""Records of what a collection took and noticed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Taken:
    """The record of one file, as given to callbacks."""

    path: Path
    rows: int
    """Number of rows or lines taken from the file now, valid reports or not."""
    before: bool
    """Whether the same file had been taken before, so that nothing was taken now."""
    copy_of: str | None
    """Path of an earlier file whose reports came again: it has the same content, or this file, without ids, begins
    with its content. None if there is no such file."""
    anonymous: bool
    """Whether there are reports without ids among those taken now."""
    done: int
    """Number of files done, this one included."""
    files: int
    """Number of files given."""


@dataclass(frozen=True)
class Contested:
    """An id that was received with several outputs: somebody copied it, or a client used it twice."""

    id: str
    files: tuple[str, ...]
    """Files that hold reports with the id, in the order in which they were taken; at most 8."""
