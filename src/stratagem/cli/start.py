"""What comes before a command: Ctrl-C ends it quietly while it is still being loaded, and compiled code is kept.

This is imported before all else of the command line. Code that is kept lets the second command start at once.
"""

from __future__ import annotations

import os
import signal
import stat
import sys
import warnings
from contextlib import suppress
from pathlib import Path

if (
    sys.argv
    and Path(sys.argv[0]).name in ("-m", "stratagem", "stratagem.exe")
    and signal.getsignal(signal.SIGINT) is signal.default_int_handler
):
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))

VARIABLE = "STRATAGEM_COMPILATION_CACHE"
"""The environment variable that names another folder for compiled code, or says "off"."""
LARGEST = 256 << 20
"""Bytes of compiled code above which the oldest files are removed; one command makes about one million."""
SETTINGS = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}


def keep_compiled_code() -> None:
    """Let JAX, which is not imported yet, keep what it compiles in the user's cache folder.

    Compiled code is for one machine, and whoever can write it runs programs in our name: each machine has a folder of
    its own, and a folder that others can write to is not used. Processes share it without locks: JAX compiles anew
    what another process has removed or not finished. A variable of JAX itself, where it is set, decides instead.
    """
    import platform

    from platformdirs import user_cache_path

    place = os.environ.get(VARIABLE, "")
    if place == "off" or "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    folder = (Path(place) if place else user_cache_path("stratagem", appauthor=False)) / platform.node()
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if _ours(folder):
            prune(folder, LARGEST)
            os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
            for name, value in SETTINGS.items():
                os.environ.setdefault(name, value)
            warnings.filterwarnings(
                "ignore", message="Error (read|writ)ing persistent compilation cache entry"
            )


def _ours(folder: Path) -> bool:
    """Return whether the folder is this user's and nobody else can write to it; Windows has no such bits."""
    found = folder.stat()
    return os.name == "nt" or (
        found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def prune(folder: Path, largest: int) -> None:
    """Remove the oldest files of a folder until the others have at most `largest` bytes."""
    kept = 0
    for size, path in ((one.stat().st_size, one) for one in newest_first(folder)):
        kept += size
        if kept > largest:
            path.unlink(missing_ok=True)


def newest_first(folder: Path) -> list[Path]:
    """Return the files of a folder, those written last first."""
    return sorted((one for one in folder.iterdir() if one.is_file()), key=lambda one: -one.stat().st_mtime)
