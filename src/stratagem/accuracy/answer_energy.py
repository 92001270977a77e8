"""Squared norm of what one report adds to the answers of a workload, for all translates at once."""

from __future__ import annotations

import numpy as np

from stratagem.math.transform import fast_length, irfft, rfft
from stratagem.workloads import Workload
from stratagem.workloads.all_range import AllRange
from stratagem.workloads.explicit import Explicit
from stratagem.workloads.identity import Identity
from stratagem.workloads.prefix import Prefix
from stratagem.workloads.stack import Stack
from stratagem.workloads.total import Total
from stratagem.workloads.weighted import Weighted


def answer_energies(workload: Workload, r: np.ndarray) -> np.ndarray:
    """Return ||W r_g||^2 for every shift g of the cycle, r_g[u] = r[(u - g) mod N], u = 0, ..., n - 1.

    `workload` over one attribute of n values, `r` (N,) with N >= n; O(N log N), for each row if it is explicit.

    Raises:
        ValueError: for another workload.
    """
    n = workload.domain_size
    match workload:
        case Weighted():
            return workload.weight**2 * answer_energies(workload.workload, r)
        case Stack():
            return np.sum([answer_energies(part, r) for part in workload.parts], axis=0)
        case Identity():
            return _Runs(np.square(r)).sums(0, n)
        case Total():
            return np.square(_Runs(r).sums(0, n))
        case Prefix():
            return _prefixes(_Runs(r), n)
        case AllRange():
            return _ranges(_Runs(r), n, workload.width)
        case Explicit():
            power = np.conj(rfft(r))
            return sum(
                (np.square(irfft(rfft(row, len(r)) * power, len(r))) for row in workload.rows),
                np.zeros(len(r)),
            )
    raise ValueError(
        f"the exact variance of {type(workload).__name__} on {n} values is not known by transforms: use a domain "
        "of at most 1024 cells, or ranges, prefixes, histograms and explicit rows"
    )


class _Runs:
    """Sums of r over runs of consecutive cells, in the windows that begin at cell -g, for all shifts g."""

    def __init__(self, r: np.ndarray):
        self.cycle = len(r)
        self.below = np.concatenate([[0.0], np.cumsum(np.concatenate([r, r]))])
        """Cumulative sums of r over two turns of the cycle (2 N + 1,), the first one 0."""
        self.start = -np.arange(self.cycle) % self.cycle
        """First cell of the window for each shift g (N,)."""

    def sums(self, first: int, last: int) -> np.ndarray:
        """Return the sum over the cells first, ..., last - 1 of the window, (N,)."""
        return self.below[self.start + last] - self.below[self.start + first]

    def of(self, values: np.ndarray, first: int, last: int) -> np.ndarray:
        """Return sum_j values[start + j] over first <= j < last, (N,), for values (2 N + 1,) on the two turns."""
        total = np.concatenate([[0.0], np.cumsum(values)])
        return total[self.start + last] - total[self.start + first]


def _prefixes(runs: _Runs, n: int) -> np.ndarray:
    """Return sum_j (C_j - C_0)^2 over j = 1, ..., n, C_j the sum of the first j cells of the window."""
    C, origin = runs.below, runs.below[runs.start]
    return runs.of(C**2, 1, n + 1) - 2 * origin * runs.of(C, 1, n + 1) + n * origin**2


def _ranges(runs: _Runs, n: int, width: int) -> np.ndarray:
    """Return sum (C_j - C_i)^2 over 0 <= i < j <= n, j - i <= width.

    C_j meets min(j, width) earlier and min(n - j, width) later ends, and the products C_i C_j of a place j
    are C_j times a difference of sums of C.
    """
    C = runs.below
    if width == n:
        return (n + 1) * runs.of(C**2, 0, n + 1) - np.square(runs.of(C, 0, n + 1))
    place = np.arange(n + 1)
    degrees = np.minimum(place, width) + np.minimum(n - place, width)
    length = fast_length(len(C) + n)
    squares = irfft(rfft(C**2, length) * np.conj(rfft(degrees.astype(float), length)), length)
    before = np.concatenate([[0.0], np.cumsum(C)[:-1]])
    far = C.copy()
    far[width:] *= before[width:] - before[:-width]
    near = runs.of(C * before, 0, width) - before[runs.start] * runs.of(C, 0, width)
    return squares[runs.start] - 2 * (near + runs.of(far, width, n + 1))
