"""InpEM's decoder: the most likely table behind reports of independent attributes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

from stratagem.published.randomised_response import truthful

TOLERANCE, LEAST_TOLERANCE = 1e-5, 1e-12
"""Published largest change of a cell at which the iteration stops; the least that rounding lets it reach."""


@dataclass(frozen=True, eq=False)
class Decoded:
    """A decoded contingency table."""

    table: np.ndarray
    """Shares of the cells, nonnegative with sum 1, of the shape of the observed table."""
    steps: int
    """Steps of the iteration."""

    @property
    def failed(self) -> bool:
        """Whether the first step, away from the uniform table, was already below the tolerance."""
        return self.steps == 1


def decode(observed: ArrayLike, epsilon: float, tolerance: float = TOLERANCE) -> Decoded:
    """Return the table that expectation maximisation reaches from the uniform one.

    Reported cell g' stems from cell g with K[g', g], the product over the attributes of randomised response.
    A step is P <- P K^T (observed / (K P)); it stops when no cell changes by more than the tolerance. The
    result is biased, and no guarantee on its error is known.

    Args:
        observed: counts or shares of the reported cells, one axis an attribute.
        epsilon: the budget of each attribute, in InpEM a d-th of the user's.
        tolerance: largest change at which to stop, at least 1e-12.

    Raises:
        ValueError: for counts that are negative, not finite or all zero, or a tolerance below 1e-12.

    Reference:
        Cormode, Kulkarni, Srivastava, SIGMOD 2018, after Fanti, Pihur, Erlingsson, PETS 2016.
    """
    counts = np.asarray(observed, dtype=float)
    if counts.ndim < 1 or not np.isfinite(counts).all() or (counts < 0).any() or not counts.any():
        raise ValueError("the observed table must hold finite counts of at least zero, not all of them zero")
    if not tolerance >= LEAST_TOLERANCE:
        raise ValueError(f"the tolerance is {tolerance!r}: give a change of at least {LEAST_TOLERANCE:g}")
    K = reduce(np.kron, (truthful(a, epsilon) for a in counts.shape))
    shares, P = counts.ravel() / counts.sum(), np.full(counts.size, 1 / counts.size)
    change, steps = math.inf, 0
    while change > tolerance:
        moved = P * (K.T @ (shares / (K @ P)))
        change, P, steps = float(np.abs(moved - P).max()), moved, steps + 1
    return Decoded(P.reshape(counts.shape), steps)
