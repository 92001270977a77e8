"""The pricing bound: a dual certificate from a few patterns, checked against all 2^n by branch and bound."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from stratagem.bounds import columns
from stratagem.bounds.certificate import Certificate
from stratagem.bounds.master import Centre, Start, solve
from stratagem.bounds.nuclear import total_term
from stratagem.privacy import check
from stratagem.workloads import Workload

ADDED = 400
"""Patterns added in a round."""
KEPT = 1600
"""Patterns above which those of least weight are dropped."""


@dataclass(frozen=True, eq=False)
class Priced:
    """What column generation found: a bound and a strategy, and how far apart they are."""

    bound: float
    """L(Q) >= bound for every epsilon-LDP Q."""
    objective: float
    """tr(M^-1 V) of the best strategy over two-level patterns met, its column sums exact to about 1e-8."""
    patterns: np.ndarray
    """Patterns (m, n) bool of the last round."""
    centre: Centre
    """Their weights and multipliers."""
    rounds: int

    @property
    def gap(self) -> float:
        """objective/bound - 1."""
        return self.objective / self.bound - 1 if self.bound > 0 else math.inf


def pricing(workload: Workload, epsilon: float, gap: float = 5e-3, seconds: float = 30.0) -> float:
    """Return a lower bound on L(Q) that pattern generation brings within gap of the optimum, time allowing.

    Solve the design problem over some patterns (module master); its multipliers with G = M^-1 V M^-1 are a
    certificate (module certificate) once branch and bound over all 2^n patterns (module branch) says by how
    much they fail; the patterns where they fail join, until they fail by less than the gap.
    Tight at high epsilon, where optimal patterns are small sets; at low epsilon the weighted bound is better.

    Raises:
        ValueError: if epsilon is out of range.
    """
    trivial = total_term(workload)
    if workload.domain.size == 1:
        return trivial
    return max(generate(workload, epsilon, gap, seconds).bound, trivial)


def generate(
    workload: Workload,
    epsilon: float,
    gap: float = 5e-3,
    seconds: float = 30.0,
    patterns: np.ndarray | None = None,
) -> Priced:
    """Generate patterns from the given ones (N, n) bool, or from random ones, for a gap or some seconds."""
    E, V = math.exp(check(epsilon)), workload.gram()
    deadline = time.monotonic() + seconds
    rng = np.random.default_rng(0)
    X = columns.first(V, E, 600, rng) if patterns is None else columns.proper(patterns)
    best, bound, start, rounds = math.inf, 0.0, None, 0
    while True:
        tight = 0.1 if bound == 0 else min(max(0.5 * (best / bound - 1), 0.2 * gap), 0.1)
        centre = solve(1 + (E - 1) * X, V, tight, start)
        best = min(best, float(np.trace(np.linalg.solve(centre.information, V))))
        certificate = Certificate.of(V, centre.information, centre.multiplier, E)
        minima = columns.descend(certificate.slack, X, centre.theta, rng)
        left = deadline - time.monotonic()
        # far from the end a glance is enough: it is the patterns met that count, not the bound
        promising = certificate.value(float(certificate.slack.scores(minima).min(initial=0.0))) > best * (
            1 - 5 * gap
        )
        allowed = max(0.3 * left, 0.1 * seconds) if promising or left < 0.2 * seconds else 0.01 * seconds
        worst = certificate.price(minima, 0.2 * gap, allowed)
        bound, rounds = max(bound, certificate.value(worst.lower)), rounds + 1
        if best <= bound * (1 + gap) or time.monotonic() > deadline:
            return Priced(bound, best, X, centre, rounds)
        top = columns.choose(certificate.slack, np.concatenate([minima, worst.patterns]), 150, rng)
        X, start = _extend(X, centre, certificate, top, rng)


def _extend(
    X: np.ndarray, centre: Centre, certificate: Certificate, top: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, Start]:
    """Return the patterns of weight with the most violated near the top ones, and a start for them."""
    theta = centre.theta
    kept = theta > 1e-3 * theta.max() if len(X) > KEPT else np.ones(len(X), dtype=bool)
    pool = np.concatenate([top, columns.neighbours(top, 5000, rng)]) if len(top) else top
    new = columns.choose(certificate.slack, columns.distinct(pool), ADDED, rng)
    share = 0.97 * theta.sum() / theta[kept].sum()
    young = np.full(len(new), 0.03 * theta.sum() / max(len(new), 1))
    return np.concatenate([X[kept], new]), (np.concatenate([share * theta[kept], young]), centre.multiplier)
