"""The linear programme of few queries: answers that join round by round, and prices that none of them exceeds."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from stratagem.math.answer_pricing import Peaks, ceiling, climbed, peaks
from stratagem.math.deadline import deadline
from stratagem.math.optimisers import Answers, solve

GRID, TAIL = 192, 12
"""Answers of one number to begin with, evenly spaced, and those beyond each end, up to twice as far out."""
SIDE = {2: 15, 3: 6, 4: 4, 5: 3}
"""Answers along each principal axis of two to five numbers to begin with."""
FEW = 64
"""Kinds of users up to which the answers of randomised response, the best at large epsilon, are among the first."""
ROUNDS, ADDED = {1: 4, 2: 25, 3: 30, 4: 30, 5: 30}, 64
"""Solutions of the programme, and answers that join where the last one's prices are exceeded most."""
TIGHT, NEGLIGIBLE = {1: 3e-4, 2: 3e-4, 3: 3e-4, 4: 5e-4, 5: 5e-4}, 1e-6
"""Distance of bound and programme at which they end, relative to the variance, by rank, and to the objective."""
CHECKS, LAST = 2, 8
"""Times that boxes check prices, lowered in between, before more answers join, and when none join any more."""
SEARCHED = 0.5
"""Share of the time after which boxes check the prices."""
CUTS = 256
"""Answers that stay although they are not used, the latest, because they limit prices."""
LOWERINGS = 12
"""Times that prices are lowered."""
USED = 1e-5
"""Share of the largest probability below which an answer is let go."""


@dataclass(frozen=True, eq=False)
class SafePrices:
    """Prices that no answer that was looked at exceeds by much, and answers that exceeded them before."""

    prices: np.ndarray
    """(lambda, mu) (n x (1 + r))."""
    worth: float
    """Dual objective: the cost of the queries according to the prices."""
    excess: float
    """The largest excess that was seen."""
    more: np.ndarray
    """Answers that exceeded the prices most before they were lowered."""

    @property
    def bound(self) -> float:
        """The bound by the answers that were looked at, which are all of them for one number."""
        return self.worth - max(0.0, self.excess)

    def certified(self, given: Answers, slack: float) -> tuple[float, np.ndarray]:
        """Return what no answer exceeds, and answers near which more than a slack above the excess is not ruled out."""
        if self.prices.shape[1] == 2:
            return self.excess, given.points[:0]
        enough = max(0.0, self.excess) + slack
        return ceiling(self.prices, given.weights, given.E, enough)


@dataclass(frozen=True, eq=False)
class SolvedProgramme:
    """The programme over some answers, solved."""

    points: np.ndarray
    """Answers in use (K x r), in lexicographic order."""
    theta: np.ndarray
    """Least probability of every output (K,)."""
    value: float
    """The cost."""
    prices: np.ndarray
    """(lambda, mu) (n x (1 + r))."""
    bound: float = 0.0
    """What the optimum over all answers costs at least."""


def programme(
    columns: np.ndarray, weights: np.ndarray, epsilon: float, E: float, coarse: SolvedProgramme | None = None
) -> SolvedProgramme:
    """Return the cheapest outputs and the best bound of a few rounds, for columns (n x r) and h (n,).

    A `coarse` programme for groups of these users gives its answers, to begin with, and its bound, which is enough
    where the cheapest outputs are near it.

    Inside, the largest of the first answers is 1. Answers that limited prices before stay, since prices swing
    without them; where boxes rule out less than was seen, ascents start there too.
    """
    points, outer = _first(columns, epsilon, E)
    points = points if coarse is None else np.unique(np.concatenate([coarse.points, outer]), axis=0)
    unit = float(np.abs(points).max())
    starts, outer, given = points / unit, outer / unit, Answers(points / unit, columns / unit, weights, E)
    noise, several = float(weights @ np.square(given.columns).sum(axis=1)), columns.shape[1] > 1
    best = found = _solved(given)
    known = 0.0 if coarse is None else coarse.bound / unit**2
    proof, cuts, top, search = None, outer[:0], math.inf, deadline().part(SEARCHED)
    for left in reversed(range(ROUNDS[columns.shape[1]])):
        slack = TIGHT[columns.shape[1]] * (best.value - noise) + NEGLIGIBLE * best.value
        if best.value - known <= slack:
            break
        tried = [found.prices]
        if proof is not None and several:  # half-way to the best so far, which swings less
            tried.append((found.prices + proof.prices) / 2)
        proofs = [_lowered(one, given, starts) for one in tried]
        proof = max([*proofs, proof or proofs[0]], key=lambda one: one.bound)
        last = not left or search.over
        if best.value - proof.bound <= slack or last:
            proof, top, starts, secured = _secured(proof, given, starts, slack, LAST if last else CHECKS)
            if secured or last:
                break
            proofs = [proof]
        cuts = np.concatenate([*(one.more for one in proofs), cuts[: CUTS if several else 0]])
        cuts = cuts[np.sort(np.unique(cuts, axis=0, return_index=True)[1])]
        given = replace(given, points=np.unique(np.concatenate([found.points, outer, cuts]), axis=0))
        found = _solved(given)
        best = min(best, found, key=lambda one: one.value)
    bound = max(known, proof.worth - max(0.0, top) if proof else 0.0)
    return replace(best, points=best.points * unit, value=best.value * unit**2, bound=bound * unit**2)


def _solved(given: Answers) -> SolvedProgramme:
    """Return the programme's solution over given answers."""
    at = solve(given)
    kept = at.theta > USED * at.theta.max()
    value = float((given.costs * (at.theta[:, None] + at.x)).sum())
    return SolvedProgramme(given.points[kept], at.theta[kept], value, at.prices)


def _secured(
    proof: SafePrices, given: Answers, starts: np.ndarray, slack: float, checks: int
) -> tuple[SafePrices, float, np.ndarray, bool]:
    """Return a proof, what no answer exceeds, the places where ascents start, and whether boxes have shown it.

    Where boxes find an answer that exceeds the prices more than was seen, those are lowered and checked again, up to
    so many times, from the third time on with twice the slack.
    """
    top = math.inf
    for check in range(checks):
        top, opened = proof.certified(given, slack * 2.0 ** max(0, check - 1))
        if len(opened) == 0:
            return proof, top, starts, True
        starts = np.concatenate([starts, opened])
        if deadline().over:
            break
        if check + 1 < checks:
            proof = _lowered(proof.prices, given, starts)
    return proof, top, starts, False


def _first(columns: np.ndarray, epsilon: float, E: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the answers to begin with, and those far outside, which stay.

    They are as wide as those of the piecewise mechanism, and randomised response's. Prices of rare extreme
    numbers would otherwise be exceeded far outside. Outside are r times the ends of each axis: an axis drawn at
    random and an end of it are an unbiased answer, so that the programme has a solution.
    """
    n, r = columns.shape
    low, high = columns.min(axis=0), columns.max(axis=0)
    middle, reach = (low + high) / 2, (high - low) / 2 / math.tanh(epsilon / 4)
    answers = ((E + n - 1) * columns - columns.sum(axis=0)) / (E - 1)
    if r == 1:
        tail = np.geomspace(1.0, 2.0, TAIL + 1)[1:]
        shape = np.concatenate([-tail[::-1], np.linspace(-1, 1, GRID), tail])[:, None]
        ends = shape[[0, -1]]
    else:
        shape = np.array(list(itertools.product(np.linspace(-1, 1, SIDE[r]), repeat=r)))
        ends = 1.5 * r * np.concatenate([np.eye(r), -np.eye(r)])
    outer = middle + reach * ends
    points = np.concatenate([middle + reach * shape, outer, answers[: n if n <= FEW else 0]])
    return np.unique(points, axis=0), outer


def _maxima(prices: np.ndarray, given: Answers, starts: np.ndarray) -> Peaks:
    """Return where prices are exceeded most, points (k x r): everywhere for one number, near the answers for more."""
    if given.points.shape[1] > 1:
        return climbed(prices, given.weights, given.E, np.concatenate([given.points, starts]))
    t, values = peaks(prices, given.weights, given.E)
    return Peaks(t[:, None], values)


def _exceeded(maxima: Peaks, used: np.ndarray) -> np.ndarray:
    """Return the answers that join, at most 64, of one number the worst between any two given ones."""
    order = np.argsort(-maxima.values)
    order = order[maxima.values[order] > 0]
    if used.shape[1] == 1:
        cells = np.searchsorted(used[:, 0], maxima.points[order, 0])
        order = order[np.sort(np.unique(cells, return_index=True)[1])]
    return maxima.points[order[:ADDED]]


def _lowered(prices: np.ndarray, given: Answers, starts: np.ndarray) -> SafePrices:
    """Return what prices prove that are lowered, all lambda alike, until hardly any answer exceeds them.

    The largest excess is convex in the amount, so Newton's steps approach its zero from one side; what
    remains after the last is subtracted whole.
    """
    lowered, weights = prices.copy(), given.weights
    first = maxima = _maxima(lowered, given, starts)
    for _ in range(LOWERINGS):
        worst = int(maxima.values.argmax())
        excess, t = float(maxima.values[worst]), maxima.points[worst]
        if excess <= 0:
            break
        raised = lowered @ np.append(1, t) > weights * (t @ t)
        lowered[:, 0] -= excess / (len(weights) + (given.E - 1) * int(raised.sum()))
        maxima = _maxima(lowered, given, starts)
    excess, worth = float(maxima.values.max()), float((lowered * given.wanted).sum())
    return SafePrices(lowered, worth, excess, _exceeded(first, given.points))
