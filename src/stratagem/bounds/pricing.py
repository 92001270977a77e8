"""The pricing bound: a dual certificate from a few patterns, checked against all 2^n by branch and bound."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from stratagem.bounds import columns
from stratagem.bounds.allowance import safe, ulps
from stratagem.bounds.branch import Worst
from stratagem.bounds.certificate import Certificate
from stratagem.bounds.listing import LISTED, listed
from stratagem.bounds.master import Centre, Start, solve
from stratagem.bounds.nuclear import total_term
from stratagem.privacy import check
from stratagem.workloads import Workload

ADDED = 400
"""Patterns added in a round."""
KEPT = 1600
"""Patterns above which those of least weight are dropped."""
STEP, SHORTER, LEAST_STEP = 0.5, 0.7, 0.1
"""How far a trial goes from the best certificate towards the newest, and what becomes of it by a failure."""
PACE = 0.65
"""What a round leaves of the gap while all goes well."""


@dataclass(frozen=True, eq=False)
class Priced:
    """What column generation found: a bound and a strategy, and how far apart they are."""

    bound: float
    """L(Q) >= bound for every epsilon-LDP Q."""
    objective: float
    """tr(M^-1 V) of the best strategy met, its column sums exact to about 1e-8, or what was given if less."""
    patterns: np.ndarray
    """Patterns (m, n) bool of the last round."""
    centre: Centre
    """Their weights and multipliers."""
    rounds: int

    @property
    def gap(self) -> float:
        """objective/bound - 1."""
        return self.objective / self.bound - 1 if self.bound > 0 else math.inf


def pricing(
    workload: Workload,
    epsilon: float,
    gap: float = 5e-3,
    seconds: float = 30.0,
    prior: np.ndarray | None = None,
) -> float:
    """Return a lower bound on L(Q) that pattern generation brings within gap of the optimum, time allowing.

    Solve the design problem over some patterns (module master); its multipliers with G = M^-1 V M^-1 are a
    certificate (module certificate) once branch and bound over all 2^n patterns (module branch) says by how
    much they fail; the patterns where they fail join, until they fail by less than the gap.
    Tight at high epsilon, where optimal patterns are small sets; at low epsilon the weighted bound is better.

    Raises:
        ValueError: if epsilon is out of range.
        LinAlgError: if the first patterns have no regular information in double precision.
    """
    trivial = total_term(workload, prior)
    if workload.domain.size == 1:
        return safe(trivial, epsilon)
    return max(generate(workload, epsilon, gap, seconds, prior=prior).bound, safe(trivial, epsilon))


def generate(
    workload: Workload,
    epsilon: float,
    gap: float = 5e-3,
    seconds: float = 30.0,
    patterns: np.ndarray | None = None,
    objective: float = math.inf,
    known: float = 0.0,
    prior: np.ndarray | None = None,
) -> Priced:
    """Generate patterns from the given ones (N, n) bool, or from random ones, for a gap or some seconds.

    An objective reached elsewhere says where to stop, and a known bound when to give up: once the gap closes
    too slowly to pass it in time. Certificates are tried half-way between the best one so far and that of
    the newest weights, less far when that fails: the newest alone swings, and stalls at twice the gap.

    Reference:
        Wentges, Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming, ITOR 1997.
    """
    E, V = math.exp(check(epsilon)), workload.gram()
    X = columns.first(V, E, 600, np.random.default_rng(0)) if patterns is None else columns.spanning(patterns)
    begun, search = time.monotonic(), _Search(V, E, X, objective, gap, prior, ulps(workload))
    while True:
        try:
            search.certify(seconds, begun + seconds - time.monotonic())
        except np.linalg.LinAlgError:  # the information of few patterns is singular up to rounding
            if search.rounds == 0:
                raise
            return search.found(epsilon)
        spent = time.monotonic() - begun
        late = spent > seconds or search.too_slow(known, seconds / spent - 1)
        if late or search.best <= search.bound * (1 + gap):
            return search.found(epsilon)
        search.extend()


class _Search:
    """The patterns, the best certificate so far, and the rounds that improve both."""

    def __init__(
        self,
        V: np.ndarray,
        E: float,
        patterns: np.ndarray,
        best: float,
        gap: float,
        prior: np.ndarray | None,
        ulps: float,
    ) -> None:
        self.V, self.E, self.patterns, self.best, self.gap, self.prior = V, E, patterns, best, gap, prior
        self.ulps = ulps
        self.rng = np.random.default_rng(0)
        self.bound, self.value, self.rounds, self.step = 0.0, 0.0, 0, STEP
        self.start: Start | None = None
        self.held: Certificate | None = None

    def certify(self, seconds: float, left: float) -> None:
        """Solve for the weights, try a certificate between the best one and theirs, and keep the better."""
        tight = 0.5 * (self.best / self.bound - 1) if self.bound else 1.0
        tight = min(max(tight, 0.2 * self.gap), 0.1)
        S = 1 + (self.E - 1) * self.patterns
        centre = solve(S, self.V, tight, self.start, prior=self.prior)
        M = centre.information
        self.best = min(self.best, float(np.trace(np.linalg.solve(M, self.V))))
        self.fresh = Certificate.of(self.V, M, centre.multiplier, self.E, self.prior, self.ulps)
        self.centre = centre
        self.trial = self.held.blend(self.fresh.shifted(0.0), self.step) if self.held else self.fresh
        worst, self.rounds = self._price(seconds, left), self.rounds + 1
        self.value = self.trial.value(worst.lower)
        if self.value > self.bound:
            self.bound, self.held = self.value, self.trial.shifted(worst.lower)
        else:
            self.step = max(SHORTER * self.step, LEAST_STEP)

    def found(self, epsilon: float) -> Priced:
        """Return what the rounds so far found."""
        return Priced(safe(self.bound, epsilon), self.best, self.patterns, self.centre, self.rounds)

    def _price(self, seconds: float, left: float) -> Worst:
        """Search what the trial violates most; a glance will do while it is far from any use."""
        slacks = (self.trial.slack, self.fresh.slack)[: 2 if self.held else 1]
        if len(self.V) <= LISTED:
            lists = [listed(slack) for slack in slacks]
            self.met = np.concatenate([one.patterns for one in lists])
            return lists[0]
        weights = self.centre.theta
        minima = np.concatenate([columns.descend(s, self.patterns, weights, self.rng) for s in slacks])
        reach = self.trial.value(float(self.trial.slack.scores(minima).min(initial=0.0)))
        promising = reach > min(self.bound, self.best * (1 - 5 * self.gap)) or left < 0.2 * seconds
        allowed = max(min(0.3 * left, 0.15 * seconds), 0.1 * seconds) if promising else 0.01 * seconds
        unsure = max(0.2 * self.gap, 0.1 * (self.best / reach - 1)) if reach > 0 else 1.0
        worst = self.trial.price(minima, unsure, allowed)
        self.met = np.concatenate([minima, worst.patterns])
        return worst

    def too_slow(self, known: float, more: float) -> bool:
        """Return whether the known bound stays out of reach in `more` times the rounds made so far."""
        value = max(self.value, self.bound)
        if self.rounds < 2 or value <= 0 or not 0 < known < self.best:
            return False
        return (self.best / value - 1) * PACE ** (more * self.rounds) > self.best / known - 1

    def extend(self) -> None:
        """Add the patterns that violate the certificates most, and some of those near them."""
        tried = [columns.choose(c.slack, self.met, 150, self.rng) for c in (self.trial, self.fresh)]
        top = columns.distinct(np.concatenate(tried))
        self.patterns, self.start = _extend(self.patterns, self.centre, self.fresh, top, self.rng)


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
