"""Reports as an audit sees them, and the shipped clients run many times over, as their users do: by value."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from stratagem.auditor import driver
from stratagem.collection.reports import Reason, Report, blocks, parsed
from stratagem.mechanism import client as shipped
from stratagem.mechanism.client import Client
from stratagem.mechanism.mechanism import Mechanism

WEB = Path(__file__).parents[1] / "mechanism" / "web"
"""The folder of the web client and of its driver."""
BATCH = 1 << 12
"""Reports that are checked together."""
PIPE = 1 << 20
"""Bytes of a program's output that may wait: for every read a thread waits for the others, some milliseconds."""
KEYS = ("mechanism", "id", "output")
DIGITS = re.compile("[0-9a-f]*")
ID = bytes(16)
"""Placeholder for the id of a malformed report that has none."""


@dataclass(frozen=True, eq=False)
class Reports:
    """Reports in the order in which they were asked for."""

    outputs: np.ndarray
    """Outputs (k,), whole numbers 0..m-1; -1 for a report that breaks the schema or names another mechanism."""
    ids: np.ndarray | None = None
    """Bytes of the ids of the reports, of shape (k, 16), uint8; None in simulations, which make no ids."""

    @property
    def malformed(self) -> int:
        """Number of reports that break the schema or name another mechanism."""
        return int((self.outputs < 0).sum())

    @property
    def formed(self) -> bool:
        """Whether any report has the form of the bundle, so that outputs can be tested."""
        return bool((self.outputs >= 0).any())

    def ids_at(self, places: np.ndarray) -> np.ndarray:
        """Return the ids (j, 16) that came at some places (k,), those of malformed reports included."""
        if self.ids is None:
            return np.zeros((0, len(ID)), np.uint8)
        ids = self.ids[places]
        return ids[(self.outputs[places] >= 0) | ids.any(axis=1)]

    def at(self, places: np.ndarray) -> Reports:
        """Return the reports at some places (k,), without those that are malformed."""
        kept = places[self.outputs[places] >= 0]
        return Reports(self.outputs[kept], None if self.ids is None else self.ids[kept])


Draw = Callable[[Sequence[Sequence[int]]], Reports]
"""Function from rows of user types to one report for each, in order; a new client answers every row."""


Devices = Callable[[Sequence[Sequence[Sequence[int]]]], list[list[Reports]]]
"""Function from devices, each with the rows of user types that it is asked about from start to start, to reports; a
device keeps its memo from start to start."""


def collected(found: Iterable[Report | Reason]) -> Reports:
    """Return the outputs and ids of the reports that a collector has read; malformed ones have output -1."""
    numbers, ids = array("q"), bytearray()
    for one in found:
        if isinstance(one, Reason):
            numbers.append(-1)
            ids += ID
        else:
            numbers.append(one.output)
            ids += bytes.fromhex(one.id)
    raw = np.frombuffer(bytes(ids), dtype=np.uint8).reshape(-1, 16)
    return Reports(np.array(numbers, dtype=np.int64), raw)


def joined(parts: Sequence[Reports]) -> Reports:
    """Return several lists of reports as one."""
    ids = [one.ids for one in parts if one.ids is not None]
    outputs = np.concatenate([one.outputs for one in parts])
    return Reports(outputs, np.concatenate(ids) if len(ids) == len(parts) else None)


def python_client(mechanism: Mechanism, make: Callable[[], Client] | None = None) -> Draw:
    """Return the draws of Python clients in this process, the mechanism's own if `make` makes no others."""
    new = (lambda: Client(mechanism.bundle)) if make is None else make
    value = cache(mechanism.value)

    def drawn(rows: Sequence[Sequence[int]]) -> Iterator[Reports]:
        for row in rows:
            randomise = new().randomise
            for first in range(0, len(row), BATCH):
                yield _of_objects([randomise(value(cell)) for cell in row[first : first + BATCH]], mechanism)

    return lambda rows: joined([*drawn(rows)] or [collected(())])


def _of_objects(found: list[Any], mechanism: Mechanism) -> Reports:
    """Return the reports that decoded JSON values hold, one by one where any has another form than clients make."""
    if set(map(type, found)) == {dict} and set(map(tuple, found)) == {KEYS}:
        reports = _plain(found, mechanism)
        if reports is not None:
            return reports
    return collected(map(mechanism.form.check, found))


def _of_file(file: BinaryIO, mechanism: Mechanism) -> Reports:
    """Return the reports that the lines of a file hold, each a JSON object."""
    read = (parsed(block, mechanism.form) for block in blocks(file))
    return joined([Reports(outputs, ids) for ids, outputs, _ in read] or [collected(())])


def _plain(found: list[dict[str, Any]], mechanism: Mechanism) -> Reports | None:
    """Return the reports of these mappings with the keys of a report, None if any is not as it should be."""
    form, (names, ids, outputs) = mechanism.form, (list(map(itemgetter(key), found)) for key in KEYS)
    known = [set(map(type, one)) for one in (names, ids, outputs)] == [{str}, {str}, {int}]
    known = known and {*names} == {form.mechanism} and 0 <= min(outputs) <= max(outputs) < form.outputs
    if not known or set(map(len, ids)) != {2 * len(ID)} or not DIGITS.fullmatch(text := "".join(ids)):
        return None
    raw = np.frombuffer(bytes.fromhex(text), np.uint8).reshape(-1, len(ID))
    return Reports(np.array(outputs, dtype=np.int64), raw)


def python_processes(mechanism: Mechanism, bundle: Path | None = None, client: Path | None = None) -> Draw:
    """Return the draws of a copy of the Python client, every row in a new process.

    The copy is the file client.py that ships, unless `client` is another one; the bundle is read from its file,
    written for the time of the draw if it has none.
    """

    def draw(rows: Sequence[Sequence[int]]) -> Reports:
        with _python(mechanism, bundle, client) as command:
            return in_new_processes(command, mechanism)(rows)

    return draw


@contextmanager
def _python(mechanism: Mechanism, bundle: Path | None, client: Path | None) -> Iterator[list[str]]:
    """Yield the command that runs a copy of the Python client."""
    code = Path(shipped.__file__) if client is None else client
    with tempfile.TemporaryDirectory() as folder:
        file = mechanism.save(Path(folder, "mechanism.ldp.json")) if bundle is None else bundle
        yield [sys.executable, "-I", driver.__file__, str(code), str(file)]


def python_devices(mechanism: Mechanism, bundle: Path | None = None, client: Path | None = None) -> Devices:
    """Return the draws of devices with a copy of the Python client, as `python_processes`."""

    def draw(devices: Sequence[Sequence[Sequence[int]]]) -> list[list[Reports]]:
        with _python(mechanism, bundle, client) as command:
            return on_devices(command, mechanism)(devices)

    return draw


def web_devices(mechanism: Mechanism, bundle: Path, client: Path | None = None) -> Devices:
    """Return the draws of devices with the web client."""
    return on_devices(_node(bundle, client), mechanism)


def web_client(mechanism: Mechanism, bundle: Path, client: Path | None = None) -> Draw:
    """Return the draws of web clients, or of a copy, in one process of node, which reads the bundle from its file."""
    return together(_node(bundle, client), mechanism)


def web_processes(mechanism: Mechanism, bundle: Path, client: Path | None = None) -> Draw:
    """Return the draws of web clients, every row in a new process of node."""
    return in_new_processes(_node(bundle, client), mechanism)


def together(command: Sequence[str], mechanism: Mechanism) -> Draw:
    """Return the draws of a program that is started once; audit.mjs says what it reads and prints."""

    def draw(rows: Sequence[Sequence[int]]) -> Reports:
        place: dict[int, int] = {}
        asked = [[place.setdefault(cell, len(place)) for cell in row] for row in rows]
        values = [mechanism.value(cell) for cell in place]
        with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile() as errors:
            given.writelines(json.dumps(line) + "\n" for line in [values, *asked])
            given.seek(0)
            streams = {"stdin": given, "stdout": subprocess.PIPE, "stderr": errors}
            with subprocess.Popen(command, bufsize=PIPE, pipesize=PIPE, **streams) as run:
                found = _of_file(cast("BinaryIO", run.stdout), mechanism)
            errors.seek(0)
            said = errors.read().decode(errors="replace").strip()[-200:]
        if run.returncode:
            raise ValueError(f"the client stopped: {said}")
        return _complete(found, rows)

    return draw


def in_new_processes(command: Sequence[str], mechanism: Mechanism) -> Draw:
    """Return the draws of a program that is started for every row anew."""
    one = together(command, mechanism)

    def draw(rows: Sequence[Sequence[int]]) -> Reports:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return joined(list(pool.map(lambda row: one([row]), rows)))

    return draw


def on_devices(command: Sequence[str], mechanism: Mechanism) -> Devices:
    """Return the draws of devices: each start of all of them is a new process, and each has a folder for its memo."""

    def draw(devices: Sequence[Sequence[Sequence[int]]]) -> list[list[Reports]]:
        with tempfile.TemporaryDirectory() as folder:
            for number in range(len(devices)):
                Path(folder, str(number)).mkdir(mode=0o700)
            start = together([*command, folder], mechanism)
            starts = [_split(start(rows), rows) for rows in zip(*devices, strict=True)]
        return [list(reports) for reports in zip(*starts, strict=True)]

    return draw


def _split(found: Reports, rows: Sequence[Sequence[int]]) -> list[Reports]:
    """Return the reports of every row by themselves."""
    ends = np.cumsum([len(row) for row in rows])[:-1]
    ids = [None] * len(rows) if found.ids is None else np.split(found.ids, ends)
    return [Reports(*one) for one in zip(np.split(found.outputs, ends), ids, strict=True)]


def _complete(found: Reports, rows: Sequence[Sequence[int]]) -> Reports:
    given, asked = len(found.outputs), sum(map(len, rows))
    if given != asked:
        raise ValueError(
            f"the client printed {given} lines when it was asked for {asked} reports: it must print one a line"
        )
    return found


def _node(bundle: Path, client: Path | None) -> list[str]:
    node = shutil.which("node")
    if node is None:
        raise ValueError("node is not installed, but runs the web client: install it, or audit python alone")
    return [node, str(WEB / "audit.mjs"), (client or WEB / "client.js").resolve().as_uri(), str(bundle)]
