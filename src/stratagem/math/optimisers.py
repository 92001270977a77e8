"""Interior-point methods for the programme of few queries and for the prices of Delsarte's bound, and L-BFGS-B.

`solve` (theory.md, section 8) finds the cheapest unbiased probabilities theta_k <= q_ki <= E theta_k of given answers
t_k, and their prices. A step of Mehrotra's predictor and corrector, in `_Newton`: what is missing of both sums and of
complementarity; x and y go first, then the prices, one small factor L for each kind of user; what is left is a system
in theta, solved twice by one Cholesky factor. 20 to 45 steps end at a relative gap of 1e-7.

`maximise` (theory.md, section 4, number 8) finds prices: damped Newton steps on a sum of roots with a logarithmic
barrier, whose weight falls to a tenth each round. Whatever ends either early, any prices give a valid bound.

`descend` is SciPy's L-BFGS-B, which ends with the deadline.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import OptimizeResult, minimize

from stratagem.math.computing import on_one_core
from stratagem.math.deadline import Deadline, deadline

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
    """The data of the linear programme: possible answers, columns of the queries, and weights."""

    points: np.ndarray
    """Answers t (K x r), one for each output."""
    columns: np.ndarray
    """The queries' columns f_i (n x r), one for each kind of user."""
    weights: np.ndarray
    """h = n p (n,), nonnegative."""
    E: float

    @property
    def design(self) -> np.ndarray:
        """Rows (1, t) for every output, shape (K, 1 + r)."""
        return np.column_stack([np.ones(len(self.points)), self.points])

    @property
    def wanted(self) -> np.ndarray:
        """Rows (1, f) for every kind of user, shape (n, 1 + r)."""
        return np.column_stack([np.ones(len(self.columns)), self.columns])

    @property
    def costs(self) -> np.ndarray:
        """Costs h_i ||t_k||^2 of every output and kind of user, shape (K, n)."""
        return np.outer(np.square(self.points).sum(axis=1), self.weights)


@dataclass(frozen=True, eq=False)
class PrimalDual:
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


def solve(given: Answers) -> PrimalDual:
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
            except np.linalg.LinAlgError:  # rounding ends the progress; any prices give a valid bound
                break
    return point


def _start(given: Answers) -> PrimalDual:
    """Return a point inside all limits whose prices are zero."""
    (K, n), c = (len(given.points), len(given.columns)), given.E - 1
    theta, cost = np.full(K, 1 / (K * (1 + c / 2))), given.costs
    inside = np.full((K, n), cost.mean())
    half = np.repeat(c * theta[:, None] / 2, n, axis=1)
    return PrimalDual(theta, half, half, 0 * given.wanted, cost + inside, inside)


class _Newton:
    """The linear system of one step and its solutions."""

    def __init__(self, given: Answers, at: PrimalDual) -> None:
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

    def advanced(self) -> PrimalDual:
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
        left = ((at.x + primal * x) * (at.z + dual * z)).sum()
        left += ((at.y + primal * y) * (at.v + dual * v)).sum()
        target = (float(left) / (2 * x.size * self.mu)) ** 3 * self.mu
        theta, prices, dx, dy, dz, dv = self._direction(target - x * z, target - y * v)
        primal, dual = self._lengths(dx, dy, dz, dv, BOUNDARY)
        return PrimalDual(
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


FIRST, SHRINK = 1e-2, 0.1
"""Weight of the barriers at the start, and its factor from round to round."""
STEPS = 40
"""Newton steps a round at most; five are usual."""


def maximise(
    gains: np.ndarray, G: np.ndarray, C: np.ndarray, gap: float = 1e-8
) -> tuple[np.ndarray, np.ndarray]:
    """Return x (k,) that nearly maximises sum_l gains_l sqrt((G x)_l) and the forces on the rows of G (r,).

    Subject to G x >= 0, C x <= 1 and x >= 0 but for its first entry; gains >= 0 (r,), G (r x k) with ones in the
    first column and no entry below -1, C (q x k) > 0. The forces are the derivatives by G x of the logarithm of
    the sum and of the barriers. Where time runs out, x is still feasible.
    """
    rows, k = G.shape
    x = np.full(k, 0.1 / k)
    x[0] = 0.5
    x /= 2 * (C @ x).max()
    weight = FIRST
    while True:
        barrier = _Barrier(gains / gains.sum(), G, C, weight)
        x = barrier.centre(x)
        if weight * (rows + len(C) + k) <= gap or deadline().over:
            return x, barrier.forces(x)
        weight *= SHRINK


class _Barrier:
    """-log sum_l gains_l sqrt((G x)_l) - weight * (logarithms of everything that must stay positive)."""

    def __init__(self, gains: np.ndarray, G: np.ndarray, C: np.ndarray, weight: float):
        self.gains, self.G, self.C, self.weight = gains, G, C, weight

    def value(self, x: np.ndarray) -> float:
        """Return the value of the function at x (k,), infinite outside the interior."""
        g, slack = self.G @ x, 1 - self.C @ x
        if min(g.min(), slack.min(), x[1:].min(initial=1.0)) <= 0:
            return np.inf
        logs = np.log(g).sum() + np.log(slack).sum() + np.log(x[1:]).sum()
        return float(-np.log(self.gains @ np.sqrt(g)) - self.weight * logs)

    def forces(self, x: np.ndarray) -> np.ndarray:
        """Return minus the derivatives of the function by G x, shape (r,)."""
        g = self.G @ x
        return self.gains / (2 * np.sqrt(g) * (self.gains @ np.sqrt(g))) + self.weight / g

    def centre(self, x: np.ndarray) -> np.ndarray:
        """Return a point near the minimum, from x in the interior."""
        for _ in range(STEPS):
            gradient, hessian = self.derivatives(x)
            step = -np.linalg.lstsq(hessian, gradient)[0]
            decrease = -float(gradient @ step)
            if not decrease > 1e-3 * self.weight or deadline().over:
                break
            length, value = 1.0, self.value(x)
            while not self.value(x + length * step) <= value - 0.1 * length * decrease:
                length /= 2
                if length < 1e-9:
                    return x
            x = x + length * step
        return x

    def derivatives(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return gradient (k,) and Hessian (k x k)."""
        g, slack = self.G @ x, 1 - self.C @ x
        total = self.gains @ np.sqrt(g)
        slopes = self.G.T @ (self.gains / (2 * np.sqrt(g))) / total
        gradient = -self.G.T @ self.forces(x) + self.weight * self.C.T @ (1 / slack)
        gradient[1:] -= self.weight / x[1:]
        bends = self.gains / (4 * g**1.5 * total) + self.weight / g**2
        hessian = (self.G.T * bends) @ self.G + np.outer(slopes, slopes)
        hessian += self.weight * (self.C.T / slack**2) @ self.C
        hessian[np.diag_indices(len(x))] += np.append(0.0, self.weight / x[1:] ** 2)
        return gradient, hessian


def descend(
    function: Callable[[np.ndarray], tuple[Any, Any]],
    start: np.ndarray,
    steps: int,
    *,
    limits: Sequence[tuple[float | None, float | None]] | None = None,
    time: Deadline | None = None,
    **options: float,
) -> OptimizeResult:
    """Return what at most so many steps reach from a start (k,), on a function that returns its value and gradient.

    Once no time is left it is the best point that was looked at, if any was.
    `limits` are the least and the largest value of each variable, None for no limit. `options` are those of SciPy:
    `maxcor`, steps that are remembered, `maxfun`, `ftol`, `gtol`.
    """
    time, best = deadline() if time is None else time, OptimizeResult(x=start, fun=math.inf, nit=0)

    def fall(x: np.ndarray) -> tuple[float, np.ndarray]:
        if math.isfinite(best.fun):  # a step may look at several points
            time.ends_descent(x)
        value, slope = function(x)
        if value < best.fun:
            best.x, best.fun = x.copy(), float(value)
        return float(value), np.array(slope)

    asked = {"jac": True, "bounds": limits, "callback": time.ends_descent}
    try:
        return minimize(fall, start, method="L-BFGS-B", options={"maxiter": steps, **options}, **asked)
    except StopIteration:
        return best
