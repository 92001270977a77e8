"""Files written whole or not at all, and folders that go when the work ends."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from stratagem.io.literal import EndlessFileError, open_regular

try:
    import fcntl
except ImportError:
    fcntl = None  # on Windows

USUAL = 0o666
"""Permissions of a new file before the umask."""
PRIVATE = 0o600
"""Permissions of an incomplete file: only its owner reads and writes it."""
TAG = 4
"""Number of random bytes in the name of an incomplete file."""


def check_target(path: str | Path, suffixes: tuple[str, ...], *, overwrite: bool = True) -> Path:
    """Return the path of a file that can be written, so that no long work is lost to a wrong name.

    Without `overwrite` the file may exist only if it is empty, as one that `tempfile` made.
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
    _check_kind(path)
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


def check_folder(path: str | Path) -> Path:
    """Return the path of a folder into which files can be written; it may be missing, but what it lies in is there."""
    folder = Path(path)
    if (folder.exists() or folder.is_symlink()) and not folder.is_dir():
        raise ValueError(f"{folder} was given as a folder to write into, but is a file: name another folder")
    there = folder if folder.is_dir() else folder.parent
    if not there.is_dir():
        raise ValueError(
            f"{folder} was given to write into, but the folder {there} does not exist: create it first"
        )
    if not os.access(there, os.W_OK):
        raise ValueError(
            f"{folder} was given to write into, but {there} is not writable: choose another folder"
        )
    return folder


@contextmanager
def written_atomically(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the name `path` only once it is complete; a failure leaves nothing behind.

    Until then nobody but its owner can read it. It takes the permissions of the file that it replaces, or those of
    any new file, and is on the disk before it has the name. What a run that was killed left behind is removed by
    the next one that writes the same file.

    Raises:
        ValueError: for a symbolic link, a device, a pipe or a socket.
    """
    _check_kind(path)
    _remove_abandoned(path)
    started: list[Path] = []
    try:
        partial, file = _started(path, started)
        with file:
            with open(partial, "wb", opener=lambda *_: os.dup(file.fileno())) as given:
                yield given
            os.fsync(file.fileno())
            partial.chmod(_permissions(path))
            partial.replace(path)
        _synchronise(path.parent)
    except OSError as error:  # a full disk does not say of which file
        if error.filename is None or Path(error.filename) in started:
            error.filename = str(path)
        raise
    finally:
        for partial in started:
            partial.unlink(missing_ok=True)


def _check_kind(path: Path) -> None:
    """Refuse a link, which would be replaced or lead elsewhere, and what is no file."""
    if path.is_symlink():
        raise ValueError(
            f"{path} was given to write, but is a symbolic link to {resolved(path)}: name that file itself"
        )
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} was given to write, but is a device, a pipe or a socket: name a file")


def resolved(path: Path) -> Path:
    """Return the file that a path leads to, links followed."""
    try:
        found = path.resolve()
    except (OSError, RuntimeError):  # of Python 3.12 and before; later ones return a link
        found = path
    if found.is_symlink():
        raise ValueError(f"{path} is a symbolic link that leads back to itself: name a file")
    return found


def incomplete(path: Path) -> Path:
    """Return a new name beside a target; what a run that was killed left there, the next one removes."""
    return path.with_name(f".{path.name}.{secrets.token_hex(TAG)}")


def _started(path: Path, started: list[Path]) -> tuple[Path, BinaryIO]:
    """Make a file beside the target that nobody else may ever open, locked while it is open.

    Its name goes into `started` first, so that an interruption at any line leaves no file.
    """
    while True:
        partial = incomplete(path)
        started.append(partial)
        file = open(partial, "xb", opener=lambda name, flags: os.open(name, flags, PRIVATE))  # noqa: SIM115
        if locked(file) and partial.exists():
            return partial, file
        file.close()  # another run took it for abandoned between these lines


def _remove_abandoned(path: Path) -> None:
    """Remove the files that runs which were killed had not completed; those of living ones are locked."""
    ending = re.compile(re.escape(f".{path.name}.") + f"[0-9a-f]{{{2 * TAG}}}")
    with suppress(OSError):
        for partial in [each for each in path.parent.iterdir() if ending.fullmatch(each.name)]:
            with suppress(OSError, EndlessFileError), open_regular(partial) as file:
                if locked(file):
                    partial.unlink()


def locked(file: BinaryIO) -> bool:
    """Take the lock of a file, until it is closed or its process ends; return whether it was free."""
    if fcntl is None:  # Windows itself keeps files that are open
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: nothing is taken for abandoned there
        return file.writable()
    return True


def _permissions(path: Path) -> int:
    """Return the permissions of the file that is replaced, or those of any new file."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        mask = os.umask(0o077)  # it can only be read by being set; meanwhile files are private
        os.umask(mask)
        return USUAL & ~mask


def _synchronise(folder: Path) -> None:
    """Flush the folder, so that the new name survives a crash; where folders cannot be opened, do nothing."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


WATCH = "import shutil, sys; sys.stdin.read(); shutil.rmtree(sys.argv[1], ignore_errors=True)"


class ScratchFolder:
    """A folder that nobody else can read, removed by `remove` or when the process ends, even if it is killed.

    A small process of its own waits for the end of this one, which closes the pipe between them whatever the
    cause, and removes the folder. Where none can be started, `remove` alone does so.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="stratagem-"))
        self._watch = _watch(self.path)

    def remove(self) -> None:
        """Remove the folder and its content; a second call does nothing."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._watch is not None:
            self._watch.communicate()
            self._watch = None


def _watch(folder: Path) -> subprocess.Popen[bytes] | None:
    silent = subprocess.DEVNULL
    with suppress(OSError, ValueError):
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", WATCH, str(folder)],
            stdin=subprocess.PIPE,
            stdout=silent,
            stderr=silent,
            start_new_session=True,  # Ctrl-C in a terminal reaches every process of a session
        )
    return None
