"""The least and the largest entry of every query: no answer from N users lies outside N times these."""

from __future__ import annotations

from functools import reduce

import numpy as np

from stratagem.workloads import Workload
from stratagem.workloads.combined import Stack, Weighted
from stratagem.workloads.explicit import Explicit
from stratagem.workloads.identity import Identity, Total
from stratagem.workloads.marginals import Marginals
from stratagem.workloads.merged import Padded
from stratagem.workloads.product import Product
from stratagem.workloads.ranges import AllRange, Prefix
from stratagem.workloads.selection import Cells, Ranges, Selection

BLOCK = 1 << 24
"""Entries of a temporary array."""


def limits(workload: Workload) -> tuple[np.ndarray, np.ndarray]:
    """Return a lower and an upper limit (p,) of the entries of each row, infinite where the structure tells none.

    The answer of a row w from N users lies between N times its two limits.
    """
    p = workload.queries
    match workload:
        case Identity() | Total() | Prefix() | AllRange() | Padded() | Ranges() | Cells() | Marginals():
            return np.zeros(p), np.ones(p)
        case Explicit():
            return workload.rows.min(axis=1), workload.rows.max(axis=1)
        case Weighted():
            ends = [workload.weight * end for end in limits(workload.workload)]
            return np.minimum(*ends), np.maximum(*ends)
        case Stack():
            low, high = zip(*map(limits, workload.parts), strict=True)
            return np.concatenate(low), np.concatenate(high)
        case Selection():
            low, high = np.empty(p), np.empty(p)
            for margin in workload.margins():
                low[margin.places], high[margin.places] = limits(margin.workload)
            return low, high
        case Product():
            return reduce(_multiplied, map(limits, workload.factors))
        case _:
            return np.full(p, -np.inf), np.full(p, np.inf)


def _multiplied(
    one: tuple[np.ndarray, np.ndarray], two: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits of the products of two entries, one from each row, for all pairs of rows."""
    products = [np.multiply.outer(a, b).ravel() for a in one for b in two]
    return np.minimum.reduce(products), np.maximum.reduce(products)


def extremes(workload: Workload) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits (p,) of `limits`, computed entry by entry where the structure tells none."""
    least, most = limits(workload)
    if not (np.isfinite(least).all() and np.isfinite(most).all()):
        for margin in workload.margins():
            least[margin.places], most[margin.places] = _by_entry(margin.workload)
    return least, most


def cells(workload: Workload) -> np.ndarray:
    """Return the number of cells (p,) of the table that each query is about."""
    found = np.empty(workload.queries)
    for margin in workload.margins():
        found[margin.places] = float(margin.workload.domain_size)
    return found


def _by_entry(workload: Workload) -> tuple[np.ndarray, np.ndarray]:
    n, step = workload.domain_size, max(1, BLOCK // workload.queries)
    least, most = np.full(workload.queries, np.inf), np.full(workload.queries, -np.inf)
    for first in range(0, n, step):
        entries = workload.answer(np.eye(n, min(step, n - first), -first))
        least, most = np.minimum(least, entries.min(axis=1)), np.maximum(most, entries.max(axis=1))
    return least, most
