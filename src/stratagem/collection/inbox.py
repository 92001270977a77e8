"""Files of reports among files and folders: found, or named with the reason why they are left out."""

from __future__ import annotations

import stat
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from stratagem.io.literal import EndlessFileError, check_regular


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


SUFFIXES = (".csv", ".jsonl", ".parquet")
HIDING = (".", "_")
"""First characters of the names that Spark and Hadoop skip in a folder."""


class Left(StrEnum):
    """Why something in a folder is left out."""

    HIDDEN = "its name begins with . or _"
    LINKED = "it is a symbolic link to a folder"
    BROKEN = "it is a symbolic link that leads nowhere"
    ENDLESS = "it is a device, a pipe or a socket"
    UNREADABLE = "the folder cannot be read"


@dataclass(frozen=True)
class Skipped:
    """Something in a folder of reports that was left out."""

    path: Path
    reason: str

    def __str__(self) -> str:
        """Return a sentence with the path and the reason."""
        return f"{self.path} was left out: {self.reason}"


@dataclass(frozen=True)
class FoundFiles:
    """The files of reports found among given files and folders, and what was left out."""

    files: list[Path]
    """Files of reports, those of a folder in the order of their names."""
    skipped: list[Skipped]
    """Everything else in the folders that could hold reports."""


def find(sources: str | Path | Iterable[str | Path]) -> FoundFiles:
    """Return the files of reports among files and folders, and what was left out of the folders.

    In a folder, names that begin with . or _ are left out, and so are links to folders. Hidden files that are empty
    and the checksums that Hadoop keeps beside its files hold no reports, and are not mentioned.
    """
    found, skipped = list[Path](), list[Skipped]()
    for source in [sources] if isinstance(sources, str | Path) else sources:
        inside, left = _expand(Path(source))
        found += inside
        skipped += left
    if not found:
        raise ValueError(f"no files were given: name {_names()} files or folders of them")
    for path in found:
        if path.suffix.lower() not in SUFFIXES:
            raise ValueError(f"{path} is not a {_names()} file by its name: convert or remove it")
    return FoundFiles(found, skipped)


def _expand(source: Path) -> tuple[list[Path], list[Skipped]]:
    if not source.exists():
        raise ValueError(f"{source} does not exist: name {_names()} files or folders of them")
    if not source.is_dir():
        try:
            check_regular(source)
        except EndlessFileError as error:
            raise ValueError(f"{error}, or write it to the standard input") from None
        return [source], []
    inside, skipped = _entries(source)
    if not inside:
        but = f", and {skipped[0]}" if skipped else ""
        raise ValueError(f"the folder {source} holds no files{but}: name one with {_names()} files")
    return inside, skipped


def _entries(folder: Path) -> tuple[list[Path], list[Skipped]]:
    """Return the files in a folder and in those below it, in the order of their names, and what is left out."""
    waiting, files, skipped = [folder], list[Path](), list[Skipped]()
    while waiting:
        path = waiting.pop()
        try:
            reason = None if path is folder else _reason(path)
            if path.is_dir() and not reason:
                waiting += sorted(path.iterdir(), reverse=True)
            elif not reason:
                files.append(path)
            elif not _empty(path):
                skipped.append(Skipped(path, reason))
        except OSError as error:
            skipped.append(Skipped(path, f"{Left.UNREADABLE} ({error.strerror})"))
    return files, skipped


def _reason(path: Path) -> Left | None:
    """Return the reason why a path in a folder is left out, or None if it is not left out."""
    if path.name.startswith(HIDING):
        return Left.HIDDEN
    path.lstat()  # from Python 3.14 on the questions below hide that a folder allows no look
    if path.is_symlink() and not path.exists():
        return Left.BROKEN
    if path.is_dir():
        return Left.LINKED if path.is_symlink() else None
    return None if stat.S_ISREG(path.stat().st_mode) else Left.ENDLESS


def _empty(path: Path) -> bool:
    """Return whether a file holds no reports for certain: nothing at all, or the checksum of the file beside it."""
    if not path.is_file():
        return False
    name = path.name
    checksum = name.startswith(".") and name.endswith(".crc") and path.with_name(name[1:-4]).is_file()
    return checksum or path.stat().st_size == 0


def _names() -> str:
    return f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
