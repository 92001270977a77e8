"""Files to write: checked before the work, complete or absent after it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def check_target(path: str | Path, suffixes: tuple[str, ...], *, overwrite: bool = True) -> Path:
    """Return the path of a file that can be written, so that no long work is lost to a wrong name.

    Without `overwrite` the file may exist only if it is empty, as one that `tempfile` made.

    Raises:
        ValueError: for what is no path, another suffix, a folder that does not exist, a path that is a folder, or a
            file that must not be overwritten.
    """
    if not isinstance(path, str | os.PathLike):
        raise ValueError(f"{path!r} was given to write, but is no path: name a file as text")
    path = Path(path)
    if not any(path.name.lower().endswith(suffix) and path.name[: -len(suffix)] for suffix in suffixes):
        raise ValueError(
            f"{path} was given to write, but its suffix must be one of {', '.join(suffixes)}: rename it"
        )
    if path.is_dir():
        raise ValueError(f"{path} was given to write, but is a folder: name a file")
    if not path.parent.is_dir():
        raise ValueError(
            f"{path} was given to write, but the folder {path.parent} does not exist: create it first"
        )
    if not os.access(path.parent, os.W_OK):
        raise ValueError(
            f"{path} was given to write, but {path.parent} is not writable: choose another folder"
        )
    if not overwrite and path.is_file() and path.stat().st_size:
        raise ValueError(f"{path} exists: name another file, or give overwrite=True")
    return path


@contextmanager
def written_atomically(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the name `path` only once it is complete; a failure leaves nothing behind."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with partial.open("xb") as file:
            yield file
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
