"""Running the shipped clients many times over, as their users do: by value, report by report."""

from __future__ import annotations

import json
import shutil
import subprocess
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stratagem.collection.reports import Report, ReportFormat
from stratagem.mechanism.attribute import edge_value
from stratagem.mechanism.client import Client
from stratagem.workloads.attribute import OTHER

WEB = Path(__file__).parents[1] / "mechanism" / "web"
"""The folder of the web client and of its driver."""


@dataclass(frozen=True, eq=False)
class Reports:
    """Reports of one client about one user type, in the order in which they were made."""

    outputs: np.ndarray
    """Outputs (k,), whole numbers 0..m-1."""
    ids: np.ndarray | None = None
    """The bytes of their ids (k x 16), uint8; None where a simulation makes none."""
    malformed: int = 0
    """Reports left out because they break the schema or name another mechanism."""


Draw = Callable[[int, int], Reports]
"""From a user type and a number k to k reports."""


def python_client(client: Client, outputs: int) -> Draw:
    """Return the draws of the Python client; `outputs` is the mechanism's number m."""

    def draw(cell: int, count: int) -> Reports:
        value, randomise = value_of(client.attributes, cell), client.randomise
        return collected((randomise(value) for _ in range(count)), client.identifier, outputs)

    return draw


def web_client(bundle: Path, client: Client, outputs: int) -> Draw:
    """Return the draws of the web client in node, which reads the bundle from its file.

    Raises:
        ValueError: if node is not installed.
    """
    node = shutil.which("node")
    if node is None:
        raise ValueError("node is not installed, but runs the web client: install it, or audit python alone")

    def draw(cell: int, count: int) -> Reports:
        value = json.dumps(value_of(client.attributes, cell))
        command = [node, str(WEB / "audit.mjs"), str(bundle), value, str(count)]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode:
            raise ValueError(f"the web client stopped: {done.stderr.decode(errors='replace').strip()[-200:]}")
        return collected(map(json.loads, done.stdout.splitlines()), client.identifier, outputs)

    return draw


def collected(reports: Iterable[Any], identifier: str, outputs: int) -> Reports:
    """Return outputs and ids of the reports that a collector would accept."""
    form, numbers, ids, malformed = ReportFormat(identifier, outputs), array("q"), bytearray(), 0
    for report in reports:
        match form.check(report):
            case Report(name, output):
                numbers.append(output)
                ids += bytes.fromhex(name)
            case _:
                malformed += 1
    raw = np.frombuffer(bytes(ids), dtype=np.uint8).reshape(-1, 16)
    return Reports(np.array(numbers, dtype=np.int64), raw, malformed)


def value_of(attributes: Sequence[Mapping[str, Any]], cell: int) -> Any:
    """Return a value of a user type as a client takes it: the lower edge of a bin, the text of a label."""
    values: dict[str, Any] = {}
    for attribute in reversed(attributes):
        cell, k = divmod(cell, attribute["size"])
        if "labels" in attribute:
            values[attribute["name"]] = attribute["labels"][k]
        elif "edges" in attribute:
            last = attribute["edges"][k + 1]  # OTHER stands behind the edge that its value follows
            values[attribute["name"]] = last if last == OTHER else edge_value(attribute["edges"][k])
        else:
            values[attribute["name"]] = k
    return values if len(attributes) > 1 else values[attributes[0]["name"]]
