"""The linear programme of few queries: answers that join round by round, and prices that none of them exceeds."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from stratagem.numeric.answer_pricing import Peaks, ceiling, climbed, peaks
from stratagem.numeric.threads import on_one_core

MOST = 80
"""Newton steps; 20 to 45 are usual."""
GAP, LEAST = 1e-7, 1e-10
"""Relative duality gap at which they end, and at which they end even where prices have lost digits."""
BOUNDARY = 0.99
"""Share of the way to the boundary that one step may go."""
RIDGE = 1e-13
"""Relative amount added to the diagonal of a step's matrix, far below what a step needs."""


@dataclass(frozen=True, eq=False)
class Answers:
    """What an estimator of centred queries may say, and whom it has to serve."""

    points: np.ndarray
    """Answers t (K x r), one for each output."""
    columns: np.ndarray
    """The queries' columns f_i (n x r), one for each kind of user."""
    weights: np.ndarray
    """h = n p (n,), nonnegative."""
    E: float

    @property
    def design(self) -> np.ndarray:
        """(1, t) for every output (K x (1 + r))."""
        return np.column_stack([np.ones(len(self.points)), self.points])

    @property
    def wanted(self) -> np.ndarray:
        """(1, f) for every kind of user (n x (1 + r))."""
        return np.column_stack([np.ones(len(self.columns)), self.columns])

    @property
    def costs(self) -> np.ndarray:
        """h_i ||t||^2 (K x n)."""
        return np.outer(np.square(self.points).sum(axis=1), self.weights)


@dataclass(frozen=True, eq=False)
class Point:
    """A primal-dual pair: q = theta + x is the probability of every output for every kind of user."""

    theta: np.ndarray
    """Least probability of every output (K,)."""
    x: np.ndarray
    """q - theta (K x n), positive."""
    y: np.ndarray
    """E theta - q (K x n), positive."""
    prices: np.ndarray
    """(lambda, mu) (n x (1 + r)): what a unit of probability, and of probability times answer, is worth."""
    z: np.ndarray
    """Multipliers of x >= 0 (K x n)."""
    v: np.ndarray
    """Multipliers of x <= (E - 1) theta (K x n)."""


def solve(given: Answers) -> Point:
    """Minimise sum_ki h_i ||t_k||^2 q_ki subject to sum_k q_ki (1, t_k) = (1, f_i), theta_k <= q_ki <= E theta_k.

    With c_ki = lambda_i + mu_i^T t_k - h_i ||t_k||^2 the dual is: maximise sum_i (lambda_i + mu_i^T f_i)
    subject to sum_i (c_ki + (E - 1) max(c_ki, 0)) <= 0 for every output. A step of Mehrotra's predictor and
    corrector eliminates x and the prices, one (1 + r) x (1 + r) system for each kind of user, and is left
    with a K x K system for theta: O(n r K^2).

    Reference:
        Mehrotra, On the implementation of a primal-dual interior point method, SIAM J. Optimization 1992.
    """
    point = _start(given)
    with on_one_core():  # threads cost more than they save on matrices of some hundred rows
        for _ in range(MOST):
            newton = _Newton(given, point)
            if newton.done():
                break
            try:
                point = newton.advanced()
            except np.linalg.LinAlgError:  # rounding has the last word; any prices give a valid bound
                break
    return point


def _start(given: Answers) -> Point:
    """Return a point inside all limits whose prices are zero."""
    (K, n), c = (len(given.points), len(given.columns)), given.E - 1
    theta, cost = np.full(K, 1 / (K * (1 + c / 2))), given.costs
    inside = np.full((K, n), cost.mean())
    half = np.repeat(c * theta[:, None] / 2, n, axis=1)
    return Point(theta, half, half, 0 * given.wanted, cost + inside, inside)


class _Newton:
    """The linear system of one step and its solutions."""

    def __init__(self, given: Answers, at: Point) -> None:
        self.given, self.at, self.c = given, at, given.E - 1
        self.A, self.cost = given.design, given.costs
        self.values = self.A @ at.prices.T - self.cost
        self.missing = given.wanted - (at.theta[:, None] + at.x).T @ self.A
        self.slope = self.values.sum(axis=1) + self.c * at.v.sum(axis=1)
        self.mu = float((at.x * at.z).sum() + (self.at.y * at.v).sum()) / (2 * at.x.size)

    def done(self) -> bool:
        """Return whether the pair is feasible and optimal up to what the bound may lose."""
        value = float((self.cost * (self.at.theta[:, None] + self.at.x)).sum())
        gap = 2 * self.at.x.size * self.mu / value
        feasible = np.abs(self.missing).max() <= GAP * np.abs(self.given.wanted).max()
        dual = gap <= LEAST or np.abs(self.slope).max() <= GAP * self.cost.max()
        return bool(gap <= GAP and feasible and dual)

    def advanced(self) -> Point:
        """Return the point one step on."""
        at, A, c = self.at, self.A, self.c
        n, d = self.given.wanted.shape
        self.e = at.v / self.at.y
        self.D = 1 / (at.z / at.x + self.e)
        products = (A[:, :, None] * A[:, None, :]).reshape(len(A), d * d)
        lower = np.linalg.cholesky((self.D.T @ products).reshape(n, d, d))
        self.L = np.linalg.inv(lower)
        raised = (1 + c * self.e * self.D)[:, None, :] * A[:, :, None]  # (K, d, n)
        self.G = np.einsum("idf,kfi->idk", self.L, raised, optimize=True).reshape(n * d, len(A))
        S = self.G.T @ self.G
        S[np.diag_indices(len(A))] += c**2 * (self.e * self.D * at.z / at.x).sum(axis=1)
        S[np.diag_indices(len(A))] *= 1 + RIDGE
        self.root = cho_factor(S, overwrite_a=True, check_finite=False)
        _, _, x, y, z, v = self._direction(0.0, 0.0)
        primal, dual = self._lengths(x, y, z, v, 1.0)
        left = ((at.x + primal * x) * (at.z + dual * z)).sum() + (
            (at.y + primal * y) * (at.v + dual * v)
        ).sum()
        target = (float(left) / (2 * x.size * self.mu)) ** 3 * self.mu
        theta, prices, dx, dy, dz, dv = self._direction(target - x * z, target - y * v)
        primal, dual = self._lengths(dx, dy, dz, dv, BOUNDARY)
        return Point(
            at.theta + primal * theta,
            at.x + primal * dx,
            at.y + primal * dy,
            at.prices + dual * prices,
            at.z + dual * dz,
            at.v + dual * dv,
        )

    def _direction(self, low: np.ndarray | float, high: np.ndarray | float) -> tuple[np.ndarray, ...]:
        """Return the change of (theta, prices, x, y, z, v) after which x z = low and y v = high to first order."""
        at, A, c, (n, d) = self.at, self.A, self.c, self.given.wanted.shape
        low, high = low / at.x, high / self.at.y
        rho = self.values + low - high
        shift = self.D * rho
        short = np.einsum("idf,if->id", self.L, self.missing - shift.T @ A)
        steep = self.slope + c * (high - at.v + self.e * shift).sum(axis=1)
        theta = cho_solve(self.root, self.G.T @ short.ravel() + steep)
        prices = np.einsum("idf,id->if", self.L, short - (self.G @ theta).reshape(n, d))
        x = self.D * (A @ prices.T + c * self.e * theta[:, None] + rho)
        y = c * theta[:, None] - x
        return theta, prices, x, y, low - at.z - at.z / at.x * x, high - at.v - self.e * y

    def _lengths(
        self, x: np.ndarray, y: np.ndarray, z: np.ndarray, v: np.ndarray, share: float
    ) -> tuple[float, float]:
        """Return how far the primal and the dual part of a step may go."""
        at = self.at
        primal = max(float((-x / at.x).max()), float((-y / self.at.y).max()))
        dual = max(float((-z / at.z).max()), float((-v / at.v).max()))
        return min(1.0, share / max(primal, share)), min(1.0, share / max(dual, share))


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
CUTS = 256
"""Answers that stay although they are not used, the latest, because they limit prices."""
LOWERINGS = 12
"""Times that prices are lowered."""
USED = 1e-5
"""Share of the largest probability below which an answer is let go."""


@dataclass(frozen=True, eq=False)
class Proof:
    """Prices that no answer that was looked at exceeds by much, and answers that exceeded them before."""

    prices: np.ndarray
    """(lambda, mu) (n x (1 + r))."""
    worth: float
    """What the prices say that the queries cost."""
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
class Found:
    """The programme over some answers, solved."""

    points: np.ndarray
    """Answers in use (K x r), in lexicographic order."""
    theta: np.ndarray
    """Least probability of every output (K,)."""
    value: float
    bound: float


def programme(columns: np.ndarray, weights: np.ndarray, epsilon: float, E: float) -> Found:
    """Return the cheapest outputs and the best bound of a few rounds, for columns (n x r) and h (n,).

    Inside, the largest of the first answers is 1. Answers that limited prices before stay, since prices swing
    without them; where boxes rule out less than was seen, ascents start there too.
    """
    points, outer = _first(columns, epsilon, E)
    unit = float(np.abs(points).max())
    starts, outer, given = points / unit, outer / unit, Answers(points / unit, columns / unit, weights, E)
    noise, several = float(weights @ np.square(given.columns).sum(axis=1)), columns.shape[1] > 1
    best = found = _solved(given)
    proof, cuts, top = None, outer[:0], math.inf
    for left in reversed(range(ROUNDS[columns.shape[1]])):
        proofs = _proofs(found.prices, proof, given, starts)
        proof = max([*proofs, proof or proofs[0]], key=lambda one: one.bound)
        slack = TIGHT[columns.shape[1]] * (best.value - noise) + NEGLIGIBLE * best.value
        if best.value - proof.bound <= slack or not left:
            proof, top, starts, secured = _secured(proof, given, starts, slack, LAST if not left else CHECKS)
            if secured or not left:
                break
            proofs = [proof]
        cuts = np.concatenate([*(one.more for one in proofs), cuts[: CUTS if several else 0]])
        cuts = cuts[np.sort(np.unique(cuts, axis=0, return_index=True)[1])]
        given = replace(given, points=np.unique(np.concatenate([found.points, outer, cuts]), axis=0))
        found = _solved(given)
        best = min(best, found, key=lambda one: one.value)
    bound = proof.worth - max(0.0, top) if proof else 0.0
    return Found(best.points * unit, best.theta, best.value * unit**2, bound * unit**2)


class _Solved(NamedTuple):
    """The programme over given answers: those in use, their least probabilities, the cost and the prices."""

    points: np.ndarray
    theta: np.ndarray
    value: float
    prices: np.ndarray


def _solved(given: Answers) -> _Solved:
    """Return the programme's solution over given answers."""
    at = solve(given)
    kept = at.theta > USED * at.theta.max()
    value = float((given.costs * (at.theta[:, None] + at.x)).sum())
    return _Solved(given.points[kept], at.theta[kept], value, at.prices)


def _secured(
    proof: Proof, given: Answers, starts: np.ndarray, slack: float, checks: int
) -> tuple[Proof, float, np.ndarray, bool]:
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
        if check + 1 < checks:
            proof = _lowered(proof.prices, given, starts)
    return proof, top, starts, False


def _proofs(prices: np.ndarray, best: Proof | None, given: Answers, starts: np.ndarray) -> list[Proof]:
    """Return what prices prove, and for several numbers also those half-way to the best so far, which swing less."""
    tried = [prices]
    if best is not None and given.points.shape[1] > 1:
        tried.append((prices + best.prices) / 2)
    return [_lowered(one, given, starts) for one in tried]


def _first(columns: np.ndarray, epsilon: float, E: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the answers to begin with, and those far outside, which stay.

    They are as wide as those of the piecewise mechanism, and randomised response's. Prices of rare extreme
    numbers would otherwise be exceeded far outside. Outside are r times the ends of each axis: an axis drawn at
    random and an end of it are an unbiased answer, so that the programme has a solution.
    """
    n, r = columns.shape
    low, high = columns.min(axis=0), columns.max(axis=0)
    middle, reach = (low + high) / 2, (high - low) / 2 / math.tanh(epsilon / 4)
    told = ((E + n - 1) * columns - columns.sum(axis=0)) / (E - 1)
    if r == 1:
        tail = np.geomspace(1.0, 2.0, TAIL + 1)[1:]
        shape = np.concatenate([-tail[::-1], np.linspace(-1, 1, GRID), tail])[:, None]
        ends = shape[[0, -1]]
    else:
        shape = np.array(list(itertools.product(np.linspace(-1, 1, SIDE[r]), repeat=r)))
        ends = 1.5 * r * np.concatenate([np.eye(r), -np.eye(r)])
    outer = middle + reach * ends
    points = np.concatenate([middle + reach * shape, outer, told[: n if n <= FEW else 0]])
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


def _lowered(prices: np.ndarray, given: Answers, starts: np.ndarray) -> Proof:
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
    return Proof(lowered, worth, excess, _exceeded(first, given.points))
