"""A temporary folder that outlives no process."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

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
        import shutil

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
