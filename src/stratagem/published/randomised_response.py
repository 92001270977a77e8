"""Randomised response on n values."""

from __future__ import annotations

import numpy as np

from stratagem.math.number import integer
from stratagem.math.privacy import ratio
from stratagem.published.baseline import Baseline, untuned
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


RANDOMISED_RESPONSE = Baseline(
    "randomised-response",
    "the truth, or any other value, with odds e^epsilon",
    "@warner1965randomized; @kairouz2016discrete",
    untuned(randomised_response),
)
