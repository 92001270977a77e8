"""Goodness of fit: whether counts may come from stated probabilities, at very small false-alarm rates."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, betaincc, gammaincc, xlogy

EXPECTED = 25
"""Expected count below which outputs are merged for a test."""
GROUPS = 16
"""Number of groups of outputs for the test of pairs."""


def fit(counts: np.ndarray, probabilities: np.ndarray) -> float:
    """Return the p-value of counts (k,) under probabilities (k,): the likelihood-ratio chi-squared test.

    G = 2 sum c log(c / E), E = N p, divided by Williams' factor 1 + (sum 1/p - 1)/(6 N (k - 1)), against
    chi-squared with k - 1 degrees of freedom. At very small p-values its tail keeps closer to chi-squared's
    than that of Pearson's statistic, which raises more false alarms than it states.

    Reference:
        Williams 1976, "Improved likelihood ratio tests for complete contingency tables".
    """
    total = int(counts.sum())
    if total == 0 or counts[probabilities == 0].any():
        return 0.0
    counts, expected = _pooled(counts, total * probabilities)
    degrees = len(counts) - 1
    if degrees < 1:
        return 1.0
    statistic = 2 * float(xlogy(counts, counts / expected).sum())
    williams = 1 + float((total / expected).sum() - 1) / (6 * total * degrees)
    return float(gammaincc(degrees / 2, max(statistic, 0) / williams / 2))


def groups(probabilities: np.ndarray) -> np.ndarray:
    """Return the group of every output (m,): 16 groups of neighbours, about equally likely."""
    before = np.cumsum(probabilities) - probabilities / 2
    return np.minimum((before * GROUPS).astype(np.int64), GROUPS - 1)


def pair_fit(group: np.ndarray, kinds: np.ndarray, shares: np.ndarray) -> float:
    """Return the p-value of independence of every second output from the one before it.

    Outputs come in 16 groups (k,), -1 for one to be left out; kind j of the kinds (k,) puts a share (16,) of its
    outputs into every group, shares (j, 16). The 256 kinds of pairs (first, second), (third, fourth), ... have
    known mean probabilities if outputs are independent.
    """
    pairs, asked = (one[: len(one) // 2 * 2].reshape(-1, 2) for one in (group, kinds))
    known = (pairs >= 0).all(axis=1)
    pairs, asked = pairs[known], asked[known]
    counts = np.bincount(pairs @ (GROUPS, 1), minlength=GROUPS**2)
    together = np.bincount(asked @ (len(shares), 1), minlength=len(shares) ** 2).reshape(len(shares), -1)
    return fit(counts, (shares.T @ (together / max(len(asked), 1)) @ shares).ravel())


def byte_fit(raw: np.ndarray) -> float:
    """Return the p-value of bytes, any shape, being uniform."""
    return fit(np.bincount(raw.ravel(), minlength=256), np.full(256, 1 / 256))


def position_fit(ids: np.ndarray) -> float:
    """Return the p-value of the bytes of ids (k x 16) being uniform at every one of their places."""
    values = ids.astype(np.int64) + 256 * np.arange(ids.shape[1])
    return fit(np.bincount(values.ravel(), minlength=4096), np.full(4096, 1 / 4096))


def share_fit(hits: int, trials: int, probability: float) -> float:
    """Return the exact two-sided p-value of a binomial count: twice the smaller tail."""
    below = betaincc(hits + 1, trials - hits, probability) if hits < trials else 1.0
    above = betainc(hits, trials - hits + 1, probability) if hits > 0 else 1.0
    return float(min(1.0, 2 * min(below, above)))


def _pooled(counts: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count rare outputs together in random groups, so that at least 25 are expected of each."""
    # a fixed shuffle: groups of neighbours would hide a defect that moves mass between neighbours
    places = np.random.default_rng(0).permutation(np.flatnonzero(expected < EXPECTED))
    group = (np.cumsum(expected[places]) // (2 * EXPECTED)).astype(np.int64)
    common = expected >= EXPECTED
    counts, expected = (
        np.append(numbers[common], np.bincount(group, numbers[places])) for numbers in (counts, expected)
    )
    if len(expected) > 1 and len(group) and expected[-1] < EXPECTED:
        least = int(expected[:-1].argmin())
        for numbers in (counts, expected):
            numbers[least] += numbers[-1]
        return counts[:-1], expected[:-1]
    return counts, expected
