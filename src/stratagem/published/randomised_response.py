"""Randomised response: on n values, on every attribute with its share of the budget (InpEM), and InpEM's decoder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

from stratagem.math.number import integer
from stratagem.math.privacy import MINIMUM, check, ratio
from stratagem.published.baseline import Baseline, Candidates, Setting, untuned
from stratagem.published.fourier import attribute_sizes
from stratagem.strategies.strategy import MatrixStrategy

LARGEST = 1 << 14
"""User types of the largest matrix, 2 GiB."""


def randomised_response(domain_size: int, epsilon: float) -> MatrixStrategy:
    """Report the truth with probability E/(E + n - 1), every other value with 1/(E + n - 1).

    Its histogram objective is tr(M^-1) = 1 + (n - 1) (E + n - 1)^2 / (E - 1)^2.

    Guarantee:
        epsilon-LDP: each row holds the two probabilities, whose ratio is E = exp(epsilon).

    Raises:
        ValueError: unless n is a whole number from 1 to 16,384.

    Reference:
        Warner 1965; Kairouz, Bonawitz, Ramage 2016.

    Example:
        >>> randomised_response(4, 1.0).matrix[0].round(3).tolist()
        [0.475, 0.175, 0.175, 0.175]
    """
    return MatrixStrategy(truthful(domain_size, epsilon))


def truthful(domain_size: int, epsilon: float) -> np.ndarray:
    """Return the n x n matrix of randomised response, E on the diagonal before normalisation."""
    n = integer(domain_size, "The number of values", 1, LARGEST, "the matrix holds n^2 numbers")
    E = ratio(epsilon)
    return (np.ones((n, n)) + (E - 1) * np.eye(n)) / (E + n - 1)


def independent_response(sizes: Sequence[int], epsilon: float) -> MatrixStrategy:
    """Report all d attributes, each through randomised response of budget epsilon/d.

    Q is the Kronecker product of the d matrices, n x n; so is its unbiased estimator.

    Guarantee:
        epsilon-LDP: the ratios of the d independent reports multiply to exp(epsilon).

    Raises:
        ValueError: for no attributes, or a share epsilon/d that is out of range.

    Reference:
        Fanti, Pihur, Erlingsson, PETS 2016, as InpEM of Cormode, Kulkarni, Srivastava, SIGMOD 2018.

    Example:
        >>> independent_response((2, 2), 2.0).matrix[0].round(3).tolist()  # 0.731, 0.269 for each bit
        [0.534, 0.197, 0.197, 0.072]
    """
    sizes, epsilon = attribute_sizes(sizes), check(epsilon)
    return MatrixStrategy(reduce(np.kron, (truthful(a, epsilon / len(sizes)) for a in sizes)))


def _candidates(setting: Setting, epsilon: float) -> Candidates:
    if sum(a > 1 for a in setting.sizes) > 1 and epsilon / len(setting.sizes) >= MINIMUM:
        yield "", independent_response(setting.sizes, epsilon)


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


RANDOMISED_RESPONSE = Baseline(
    "randomised-response",
    "the truth, or any other value, with odds e^epsilon",
    "@warner1965randomized; @kairouz2016discrete",
    untuned(randomised_response),
)
INDEPENDENT = Baseline(
    "independent-response",
    "every attribute by randomised response with its share of epsilon",
    "@fanti2016building (InpEM)",
    _candidates,
)
