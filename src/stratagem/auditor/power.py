"""The power of an audit: the defects that it misses with a stated probability."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, expit, logit

from stratagem.auditor.event import EXCESS, MISS, Favoured, quantile
from stratagem.auditor.goodness import share_fit
from stratagem.auditor.plan import Chosen

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

    return _first(caught, 1.0) if 0 < p < 1 and caught(1.0) else None


def _noticeable(p: float, raised: float, total: int, level: float) -> float:
    """Return the smallest factor of epsilon that is noticed: the log-odds of p grow in proportion to the excess."""
    if not 0 < p < raised < 1:
        return math.inf
    step = float(logit(raised) - logit(p)) / EXCESS

    def caught(excess: float) -> bool:
        return _missed(p, float(expit(logit(p) + excess * step)), total, level) <= MISS

    most = 40.0 / step
    return 1 + _first(caught, most) if caught(most) else math.inf


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


def _first(caught: Callable[[float], bool], most: float) -> float:
    """Return the smallest number up to `most` for which `caught` holds, by bisection."""
    low, high = 0.0, most
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if caught(middle) else (middle, high)
    return high
