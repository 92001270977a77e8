"""Running the shipped clients many times over, as their users do: by value, report by report."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from stratagem.auditor import driver
from stratagem.auditor.reports import Draw, Reports, collected, joined
from stratagem.mechanism import client as shipped
from stratagem.mechanism.attribute import value_of
from stratagem.mechanism.client import Client
from stratagem.mechanism.mechanism import Mechanism

WEB = Path(__file__).parents[1] / "mechanism" / "web"
"""The folder of the web client and of its driver."""


def python_client(mechanism: Mechanism, make: Callable[[], Client] | None = None) -> Draw:
    """Return the draws of Python clients in this process, the mechanism's own if `make` makes no others."""
    new = (lambda: Client(mechanism.bundle)) if make is None else make
    form, value = mechanism.form, cache(lambda cell: value_of(mechanism.bundle["domain"], cell))

    def reports(rows: Sequence[Sequence[int]]) -> Iterator[Any]:
        for row in rows:
            randomise = new().randomise
            yield from (randomise(value(cell)) for cell in row)

    return lambda rows: collected(form.check(one) for one in reports(rows))


def python_processes(mechanism: Mechanism, bundle: Path | None = None, client: Path | None = None) -> Draw:
    """Return the draws of a copy of the Python client, every row in a new process.

    The copy is the file client.py that ships, unless `client` is another one; the bundle is read from its file,
    written for the time of the draw if it has none.
    """
    code = Path(shipped.__file__) if client is None else client

    def draw(rows: Sequence[Sequence[int]]) -> Reports:
        with tempfile.TemporaryDirectory() as folder:
            file = mechanism.save(Path(folder, "mechanism.ldp.json")) if bundle is None else bundle
            command = [sys.executable, "-I", driver.__file__, str(code), str(file)]
            return in_new_processes(command, mechanism)(rows)

    return draw


def web_client(mechanism: Mechanism, bundle: Path) -> Draw:
    """Return the draws of web clients in one process of node, which reads the bundle from its file."""
    return together(_node(bundle), mechanism)


def web_processes(mechanism: Mechanism, bundle: Path) -> Draw:
    """Return the draws of web clients, every row in a new process of node."""
    return in_new_processes(_node(bundle), mechanism)


def together(command: Sequence[str], mechanism: Mechanism) -> Draw:
    """Return the draws of a program that is started once; audit.mjs says what it reads and prints.

    Raises:
        ValueError: if it stops, or does not print as many lines as it was asked for reports.
    """

    def draw(rows: Sequence[Sequence[int]]) -> Reports:
        place: dict[int, int] = {}
        asked = [[place.setdefault(cell, len(place)) for cell in row] for row in rows]
        values = [value_of(mechanism.bundle["domain"], cell) for cell in place]
        with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile() as errors:
            given.writelines(json.dumps(line) + "\n" for line in [values, *asked])
            given.seek(0)
            with subprocess.Popen(command, stdin=given, stdout=subprocess.PIPE, stderr=errors) as run:
                assert run.stdout is not None
                found = collected(map(mechanism.form.parse, run.stdout))
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


def _complete(found: Reports, rows: Sequence[Sequence[int]]) -> Reports:
    given, asked = len(found.outputs), sum(map(len, rows))
    if given != asked:
        raise ValueError(
            f"the client printed {given} lines when it was asked for {asked} reports: it must print one a line"
        )
    return found


def _node(bundle: Path) -> list[str]:
    node = shutil.which("node")
    if node is None:
        raise ValueError("node is not installed, but runs the web client: install it, or audit python alone")
    return [node, str(WEB / "audit.mjs"), str(bundle)]
