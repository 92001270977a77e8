"""Reports as an audit sees them: outputs and ids in the order of the questions."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from stratagem.collection.reports import Reason, Report

ID = bytes(16)
"""Placeholder for the id of a malformed report."""


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

    def at(self, places: np.ndarray) -> Reports:
        """Return the reports at some places (k,), without those that are malformed."""
        kept = places[self.outputs[places] >= 0]
        return Reports(self.outputs[kept], None if self.ids is None else self.ids[kept])


Draw = Callable[[Sequence[Sequence[int]]], Reports]
"""Function from rows of user types to one report for each, in order; a new client answers every row."""


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
