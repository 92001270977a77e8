"""Laplace histogram encoding: real numbers (SHE), or bits after a threshold (THE)."""

from __future__ import annotations

import math

import numpy as np

from stratagem.math.number import integer, real
from stratagem.math.privacy import check
from stratagem.published.baseline import Baseline, Candidates, Setting, untuned
from stratagem.strategies.additive_noise import AdditiveNoise, Laplace
from stratagem.strategies.unary_protocol import UnaryEncoding

LARGEST = 1 << 14
"""User types of the largest domain of SHE."""
SAFE = 1 + 1e-14
"""Factor on the scale of noise that covers its rounding error."""


def summed_histogram_encoding(domain_size: int, epsilon: float) -> AdditiveNoise:
    """Send e_u with Laplace noise of scale 2/epsilon on all n entries; the aggregator adds up.

    The variance of a count is 8 N/epsilon^2, whatever the data.

    Guarantee:
        epsilon-LDP for real noise: two unit vectors are 2 apart in L1.

    Raises:
        ValueError: unless n is a whole number from 1 to 16,384.

    Reference:
        Wang, Blocki, Li, Jha, USENIX Security 2017, SHE; Dwork et al. 2006.

    Example:
        >>> round(summed_histogram_encoding(8, 1.0).variance, 6)
        8.0
    """
    n = integer(domain_size, "The number of values", 1, LARGEST, "the aggregator's matrices hold n^2 numbers")
    return AdditiveNoise(np.eye(n), Laplace(2 / check(epsilon) * SAFE), total_known=False)


def thresholded_histogram_encoding(
    domain_size: int, epsilon: float, threshold: float | None = None
) -> UnaryEncoding:
    """Send which entries of e_u + Lap(2/epsilon)^n are above a threshold t: a unary encoding.

    p = 1 - e^(epsilon (t - 1)/2)/2 and q = e^(-epsilon t/2)/2 for t from 1/2 to 1; without a threshold the
    one of least q (1 - q)/(p - q)^2 is taken.

    Guarantee:
        Measured from p and q, strictly less than epsilon, which bounds the noisy vector before the threshold.

    Raises:
        ValueError: if the threshold is not from 1/2 to 1; and as `UnaryEncoding`.

    Reference:
        Wang, Blocki, Li, Jha, USENIX Security 2017, THE.

    Example:
        >>> round(thresholded_histogram_encoding(8, 1.0).epsilon, 4)
        0.896
    """
    epsilon = check(epsilon)
    threshold = best_threshold(epsilon) if threshold is None else threshold
    if not 0.5 <= real(threshold) <= 1:
        raise ValueError(f"the threshold is {threshold!r}; between 0 and 1 give a number from 1/2 to 1")
    return UnaryEncoding(domain_size, *_shares(threshold, epsilon))


def best_threshold(epsilon: float) -> float:
    """Return the threshold in [1/2, 1] that minimises q (1 - q)/(p - q)^2."""
    from scipy.optimize import minimize_scalar

    def variance(threshold: float) -> float:
        p, q = _shares(threshold, epsilon)
        return math.log(q) + math.log1p(-q) - 2 * math.log(p - q)

    found = minimize_scalar(variance, bounds=(0.5, 1.0), method="bounded")
    return float(found["x"])  # type: ignore[index]


def _shares(threshold: float, epsilon: float) -> tuple[float, float]:
    """Return p and q, p below one in double precision."""
    p = 1 - math.exp(epsilon * (threshold - 1) / 2) / 2
    return min(p, 1 - 2.0**-53), math.exp(-epsilon * threshold / 2) / 2


def _thresholded(setting: Setting, epsilon: float) -> Candidates:
    threshold = best_threshold(epsilon)
    oracle = thresholded_histogram_encoding(setting.domain_size, epsilon, threshold)
    yield f"threshold {threshold:.3f}", oracle


SUMMED_HISTOGRAM_ENCODING = Baseline(
    "summed-histogram-encoding",
    "Laplace noise on every entry of one's unit vector (SHE)",
    "@wang2017locally; @dwork2006calibrating",
    untuned(summed_histogram_encoding),
)
THRESHOLDED_HISTOGRAM_ENCODING = Baseline(
    "thresholded-histogram-encoding",
    "which entries of a noisy unit vector are above a threshold (THE)",
    "@wang2017locally",
    _thresholded,
)
