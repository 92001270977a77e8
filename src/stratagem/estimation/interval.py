"""Confidence intervals: their width in standard errors, and the interval of a quantile."""

from __future__ import annotations

import math

import numpy as np


def check_confidence(confidence: float) -> float:
    """Return a confidence level strictly between 0 and 1.

    Raises:
        ValueError: for anything else.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"the confidence is {confidence!r}, but must lie between 0 and 1: give 0.95")
    return confidence


def standard_errors_each_side(confidence: float, queries: int = 1) -> float:
    """Return c with P(|Z_i| <= c for all i) >= confidence for jointly normal Z_1, ..., Z_queries of variance 1.

    c = Phi^-1((1 + confidence^(1/queries)) / 2), exact for one query and for independent ones, and on the safe
    side under any correlation (Sidak 1967, Theorem 1).

    Example:
        >>> round(standard_errors_each_side(0.95), 3), round(standard_errors_each_side(0.95, 64), 3)
        (1.96, 3.352)
    """
    from scipy.special import ndtri

    missed = -math.expm1(math.log(confidence) / max(1, queries))
    return -float(ndtri(missed / 2))


def quantile_index(prefixes: np.ndarray, wanted: float) -> int:
    """Return how many prefixes (n,) are below `wanted`, at most n - 1.

    For prefixes that rise it is the smallest j with prefixes_j >= wanted; noise that makes them cross `wanted`
    several times moves it to neither side.
    """
    return min(int(np.count_nonzero(prefixes < wanted)), len(prefixes) - 1)


def quantile_range(low: np.ndarray, high: np.ndarray, wanted: float) -> tuple[int, int]:
    """Return the first and last value (indices) that can be the smallest j with F_j >= wanted.

    low, high (n,) are intervals of the prefix counts F. Value j is possible if high_j >= wanted and
    low_(j-1) < wanted; the truth is not only if one of these two intervals misses on one side, so intervals of
    confidence 1 - a give a range of confidence at least 1 - a (test inversion, Woodruff 1952).
    """
    high = np.append(high[:-1], np.inf)  # nobody is above the last value
    possible = np.flatnonzero((high >= wanted) & (np.append(-np.inf, low[:-1]) < wanted))
    return int(possible[0]), int(possible[-1])
