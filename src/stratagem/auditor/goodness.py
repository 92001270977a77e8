"""Goodness of fit at very small false-alarm rates, and the power of an audit: the defects that it misses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, betainc, betaincc, expit, gammaincc, logit, xlogy

from stratagem.auditor.event import EXCESS, FARTHEST, MISS, Favoured, first, quantile
from stratagem.auditor.plan import Chosen

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
    counts = [np.bincount(place, minlength=256) for place in ids.T]
    return fit(np.concatenate(counts), np.full(4096, 1 / 4096))


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


BAD = 0.05
"""Fraction of bad user types for which the probability of a miss is stated."""


@dataclass(frozen=True, kw_only=True)
class Power:
    """What an audit of this size finds; all of it is known before any report is seen.

    A report is called raw if it tells the value: it is one of the outputs that favour the user type, always.
    """

    noticeable: float
    """Smallest epsilon of a client that is noticed as larger than the table's with probability 0.99; may be
    infinite."""
    excess_missed: float
    """Probability that a client with 1.05 times the epsilon is missed."""
    raw_reports: float | None
    """Smallest fraction of raw reports for which a tested user type is noticed with probability 0.99; None if
    none is."""
    bad_types_missed: float
    """Upper bound on the probability of missing a client that treats 5 % of the user types badly."""
    bad_types: float | None
    """Smallest fraction of bad user types that is missed with probability at most 0.01; None if no fraction is."""
    first_reports: Mapping[str, tuple[int, float | None]]
    """For "new clients" and "new processes": how many were asked, and the smallest fraction of raw first
    reports that is noticed with probability 0.99, or None if no fraction is."""


def power(
    favoured: Sequence[Favoured],
    chosen: Chosen,
    domain_size: int,
    epsilon: float,
    counts: np.ndarray,
    firsts: Mapping[str, int],
    levels: tuple[float, float],
) -> Power:
    """Return the power of an audit with so many reports of every user type (t,), and first reports.

    `levels` are the p-values below which a check fails, of all user types together and of one.
    """
    weights, total = counts / counts.sum(), int(counts.sum())
    p = float(np.clip(weights @ [one.probability for one in favoured], 0, 1))
    raised = float(np.clip(weights @ [one.raised for one in favoured], 0, 1))
    raw = [
        noticed_share(one.probability, int(count), levels[1])
        for one, count in zip(favoured, counts, strict=True)
    ]
    worst = None if any(one is None for one in raw) else max(one or 0.0 for one in raw)
    tested = worst is not None and (chosen.drawn is None or chosen.drawn > 0)
    return Power(
        noticeable=epsilon * _noticeable(p, raised, total, levels[0]),
        excess_missed=_missed(p, raised, total, levels[0]),
        raw_reports=worst,
        bad_types_missed=_types_missed(chosen, domain_size) if tested else 1.0,
        bad_types=_types_found(chosen, domain_size) if tested else None,
        first_reports={name: (count, noticed_share(p, count, levels[0])) for name, count in firsts.items()},
    )


def noticed_share(p: float, trials: int, level: float) -> float | None:
    """Return the smallest fraction of raw reports, hits for sure, that is noticed with probability 0.99.

    All other reports are hits with probability p; None if not even raw reports alone are noticed.
    """

    def caught(share: float) -> bool:
        hits = math.floor(quantile(MISS, trials, p + share * (1 - p))) if share < 1 else trials
        return share_fit(hits, trials, p) < level

    return first(caught, 1.0) if 0 < p < 1 and caught(1.0) else None


def _noticeable(p: float, raised: float, total: int, level: float) -> float:
    """Return the smallest factor of epsilon that is noticed: the log-odds of p grow in proportion to the excess."""
    if not 0 < p < raised < 1:
        return math.inf
    step = float(logit(raised) - logit(p)) / EXCESS

    def caught(excess: float) -> bool:
        return _missed(p, float(expit(logit(p) + excess * step)), total, level) <= MISS

    most = FARTHEST / step
    return 1 + first(caught, most) if caught(most) else math.inf


def _missed(p: float, other: float, total: int, level: float) -> float:
    """Return the probability that a test for hit probability p passes although the hit probability is `other`."""
    if not 0 < p < 1:
        return 1.0
    least, most = math.floor(quantile(level / 2, total, p)), math.ceil(quantile(1 - level / 2, total, p))
    below = bdtr(least - 1, total, other) if least > 0 else 0.0
    return float(min(max(bdtr(most, total, other) - below, 0.0), 1.0))


def _types_missed(chosen: Chosen, domain_size: int) -> float:
    """Return an upper bound on the probability of missing a client that treats 5 % of the user types badly."""
    if chosen.drawn is None:
        return MISS ** max(1, math.floor(BAD * domain_size))
    return float((1 - BAD * (1 - MISS)) ** chosen.drawn)


def _types_found(chosen: Chosen, domain_size: int) -> float | None:
    """Return the smallest fraction of bad user types that is missed with probability 0.01 at most."""
    if chosen.drawn is None:
        return 1 / domain_size
    fraction = (1 - MISS ** (1 / chosen.drawn)) / (1 - MISS)
    return fraction if fraction <= 1 else None
