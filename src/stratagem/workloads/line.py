"""Prefixes and ranges in cosines along the line of their values, whose Gram matrix they make almost diagonal."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stratagem.workloads.all_range import AllRange
from stratagem.workloads.combined import unweighted
from stratagem.workloads.prefix import Prefix
from stratagem.workloads.workload import Array, Workload


@dataclass(frozen=True)
class Line:
    """The Gram matrix of all prefixes or all ranges of n values, P V P = scale (L^+ - share r r^T), P = I - 11^T/n.

    L = tridiag(-1, 2, -1) with ones at its ends is the Laplacian of the path. Its vectors are the cosines
    e_j(u) = (2/n)^(1/2) cos(pi j (u + 1/2)/n), j = 1, ..., n - 1, its eigenvalues 4 sin^2(pi j/(2 n)).

    Prefixes: P V P = L^+. Ranges: with d = e_1 - e_n of the standard basis, (n + 1) V^-1 is L + e_1 e_1^T + e_n e_n^T,
    whose Schur complement on 1^perp is L + d d^T/2. As d^T L^+ d = n - 1, Sherman and Morrison give
    P V P = (n + 1) L^+ - r r^T with the ramp r = L^+ d, r_u = (n - 1)/2 - u.
    """

    n: int
    scale: float
    """Factor of L^+."""
    share: float
    """0 for prefixes, 1/(n + 1) for ranges."""
    total: float
    """1^T V 1/n."""

    def roots(self, j: np.ndarray) -> Array:
        """Return the square roots of the eigenvalues of scale L^+ at the cosines j."""
        return math.sqrt(self.scale) / (2 * np.sin(math.pi / (2 * self.n) * j))

    def ramp(self, j: np.ndarray) -> Array:
        """Return (scale share)^(1/2) e_j^T r, zero at even j."""
        angles = math.pi / (2 * self.n) * j
        waves = math.sqrt(2 / self.n) * np.cos(angles) / (2 * np.square(np.sin(angles)))
        return math.sqrt(self.scale * self.share) * np.where(j % 2 == 1, waves, 0.0)


def line(workload: Workload) -> Line | None:
    """Return the structure of all prefixes or all ranges of at least two values, weighted or not; None for others."""
    n, norms = workload.domain_size, workload.structure.norms
    weight, workload = unweighted(workload)
    square = weight**2
    total = 0.0 if norms is None else n * norms.total
    match workload:
        case Prefix() if n > 1:
            return Line(n, square, 0.0, total)
        case AllRange(width=width) if width == n > 1:
            return Line(n, square * (n + 1), 1 / (n + 1), total)
    return None
