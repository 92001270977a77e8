"""The data vector that fits the counts of reports best: by least squares, or the one that makes them most likely."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stratagem.estimation.working_set import duality_gap, sparse_minimum
from stratagem.strategies import Strategy
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


def _any(workload: Workload) -> bool:
    return True


def _unordered(workload: Workload) -> bool:
    return workload.symmetry is not None


EVERY = Fit("all queries", _any)  # functions with names, so that estimates can be pickled
CELLS = Fit("queries that count every cell alone and alike (histograms)", cells_alike)
UNORDERED = Fit("queries that know no order of values (histograms, marginals)", _unordered)


GAP = 1e-5
"""Log-likelihood that the answer may lack: at most sqrt(2e-5) = 0.0045 standard errors in any direction."""
MAX_STEPS = 50
"""Newton steps at most; far fewer suffice."""
SUFFICIENT = 0.1
"""Share of the predicted decrease that a step must reach."""


def most_likely(strategy: Strategy, counts: np.ndarray, gap: float = GAP) -> np.ndarray:
    """Return argmax sum_y c_y log (Q z)_y over the simplex z >= 0, sum z = 1, from counts c (m,).

    It is what iterating Bayes' rule converges to, z_u <- z_u sum_y Q[y, u] (c_y / N) / (Q z)_y (IBU, Agrawal
    and Aggarwal, PODS 2001), an expectation-maximisation that needs thousands of rounds where privacy is
    strong. Here Newton's method on the simplex takes a few: under epsilon-LDP the likelihood is nearly
    quadratic. Stops when the likelihood is within `gap` of the largest: N (max_u (Q^T (c / (Q z)))_u / N - 1)
    <= gap, a bound by concavity that also holds for the iteration's own limit; from some 10^11 reports rounding
    keeps the bound, though hardly the answer, above 1e-5.
    """
    z = np.full(strategy.domain_size, 1 / strategy.domain_size)
    for _ in range(MAX_STEPS):
        slope = likelihood_slope(strategy, counts, z)
        if duality_gap(slope, z) <= gap:
            break
        curvature = _weighted_gram(strategy, _per_report(counts, strategy.forward(z) ** 2))
        target = sparse_minimum(curvature, z, slope, gap / 10)
        z = _along(strategy, counts, z, target - z, float(slope @ (target - z)), gap / 10)
    return z


def likelihood_slope(strategy: Strategy, counts: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return -Q^T (c / (Q z)) (n,), the gradient of the negative log-likelihood."""
    return -strategy.backward(_per_report(counts, strategy.forward(z)))


def _along(
    strategy: Strategy, counts: np.ndarray, z: np.ndarray, move: np.ndarray, slope: float, slack: float
) -> np.ndarray:
    """Return z + t move for the first t = 1, 1/2, 1/4, ... that raises the likelihood enough, give or take the slack.

    The slack is what the move itself was computed to: near the end it may gain nothing and only lower the bound.
    """
    before, change = strategy.forward(z), strategy.forward(move)
    seen = counts > 0
    c, relative = counts[seen], change[seen] / before[seen]
    t = 1.0
    while t > 1e-10:
        if (t * relative > -1).all() and -(c @ np.log1p(t * relative)) <= SUFFICIENT * t * slope + slack:
            return z + t * move
        t /= 2
    return z


def _per_report(counts: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return counts / values (m,), zero for outputs without reports."""
    return np.divide(counts, values, out=np.zeros_like(counts), where=counts > 0)


def _weighted_gram(strategy: Strategy, weights: np.ndarray) -> np.ndarray:
    """Return Q^T diag(weights) Q (n x n)."""
    return strategy.backward(weights[:, None] * strategy.forward(np.eye(strategy.domain_size)))
