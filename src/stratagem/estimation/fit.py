"""The queries that a post-processing fits: those whose answers it does not make worse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stratagem.workloads import Workload
from stratagem.workloads.identity import Identity

ALIKE = 1e-9
"""Share of the largest entry of a Gram matrix up to which two of its entries are equal."""
LARGEST = 1 << 14
"""Largest number of user types for which `cells_alike` compares the entries of the Gram matrix."""


@dataclass(frozen=True)
class Fit:
    """The queries that a post-processing fits."""

    queries: str
    """Description of the queries in words."""
    holds: Callable[[Workload], bool]


def cells_alike(workload: Workload) -> bool:
    """Return whether ||W z||^2 = c ||z||^2 for every z that sums to zero: an error weighs the same in all cells.

    Then the nearest data vector has the nearest answers, and what helps cells helps answers. Ranges add up many
    cells: their answers have far smaller errors than their cells, and every change of a cell goes into many.
    """
    if isinstance(workload, Identity):
        return True
    if workload.domain_size > LARGEST:
        return False
    V = workload.gram()
    means = V.mean(axis=1)
    centred = V - means[:, None] - means + means.mean()
    even = np.eye(len(V)) - 1 / len(V)
    c = np.trace(centred) / max(1, len(V) - 1)
    return float(np.abs(centred - c * even).max()) <= ALIKE * float(np.abs(V).max())


EVERY = Fit("all queries", lambda workload: True)
CELLS = Fit("queries that count every cell alone and alike (histograms)", cells_alike)
UNORDERED = Fit(
    "queries that know no order of values (histograms, marginals)",
    lambda workload: workload.spectrum is not None,
)
