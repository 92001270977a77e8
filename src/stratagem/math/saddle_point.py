"""The saddle point over given rows: weights that make the largest of several variances least, and the mixture.

Both players are found together by a primal-dual Newton method (theory.md, section 7): `Game.derivatives` of the mean
variance f(theta, y), `_step` towards complementary slacks (over products of rows where rows are many, `_over_products`,
else `_over_rows`, with refinement for lost digits), at the largest pace that keeps all signs (`_play`). Rounding
limits the gap rather than the number of steps: slower paces are tried where 30 times the gap asked for is not reached.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from stratagem.math.computing import on_one_core
from stratagem.math.linalg import reach

STEPS = 150
"""Newton steps at most; 10 to 40 are usual."""
PACES, BOUNDARY = (0.1, 0.5, 0.8), 0.95
"""Factors by which one step tries to shrink the gap, the next where one fails: an eigenvalue of M that falls to zero
with the gap bends f too much for large steps. Share of the way to the boundary that a step may go."""
SLACK, TINY = 30, 1e-9
"""Multiple of the gap asked for up to which no slower pace is tried, and relative products at which steps end."""
STUCK = 12
"""Steps that must together halve the gap: rounding ends the progress."""
RANK = 1e-13
"""Share of the largest eigenvalue of G below which one counts as rounding."""
RIDGE, WIDEST = 1e-15, 1e-6
"""Relative amount added to a step's matrix where rounding has left it indefinite, ten times as much each time, and
the amount that no step survives."""
REFINED = 4
"""Times that a step's system is solved, each for what the last solutions have left."""


@dataclass(frozen=True, eq=False)
class Curvature:
    """The second derivative by theta, H_st = (s^T M^-1 t) (s^T G t) 2/(p^T s p^T t) (m x m), as it is cheaper.

    With A A^T and B B^T the two matrices of products over the rows, H is their product entry by entry, and also
    Phi Phi^T, where a row of Phi (m x nr) holds all products of a row of A with one of B.
    """

    seen: np.ndarray
    """A (m x n), its rows divided by p^T s."""
    factor: np.ndarray
    """B (m x r), times the root of two."""

    @cached_property
    def wide(self) -> np.ndarray | None:
        """Phi; None where it has more columns than rows."""
        m, q = len(self.seen), self.seen.shape[1] * self.factor.shape[1]
        return (self.seen[:, :, None] * self.factor[:, None, :]).reshape(m, q) if q < m else None

    @cached_property
    def whole(self) -> np.ndarray:
        """H, where Phi has more columns than rows."""
        return (self.seen @ self.seen.T) * (self.factor @ self.factor.T)

    def times(self, x: np.ndarray) -> np.ndarray:
        """Return H x."""
        return self.whole @ x if self.wide is None else self.wide @ (self.wide.T @ x)


class Derivatives(NamedTuple):
    """A mixture's mean variance f(theta, y) and its derivatives, up to the second, at weights and a mixture."""

    gains: np.ndarray
    """-df/dtheta (m,): g_s = s^T G s/p^T s, G = M^-1 V M^-1."""
    variances: np.ndarray
    """df/dy (k,): the variances under the reconstruction that is best for the mixture."""
    curvature: Curvature
    """Second derivative by theta."""
    mixed: np.ndarray
    """dg/dy (m x k)."""
    bend: np.ndarray
    """Second derivative by y (k x k), negative semidefinite."""


@dataclass(frozen=True, eq=False)
class Game:
    """Weights theta of rows against a mixture y of variances, over which f is convex and concave.

    With M = sum_s theta_s s s^T/(p^T s) and V = W^T diag(omega) W the mean variance is f = tr(M^-1 V) - sum_u p_u V_uu.
    Of the variances of user types the mixture is p, and omega = 1; of those of queries it is omega.
    """

    rows: np.ndarray
    """Rows s in {1, E}^n (m x n); M must be regular where all weights are positive."""
    queries: np.ndarray
    """Queries W (r x n), less multiples of the total."""
    prior: np.ndarray | None
    """Probabilities p of the user types (n,) where the variances are those of queries, None where of user types."""

    @property
    def size(self) -> int:
        """Number k of variances."""
        return self.rows.shape[1] if self.prior is None else len(self.queries)

    def weights(self, y: np.ndarray) -> np.ndarray:
        """Return the probabilities p of the user types (n,) under a mixture y (k,)."""
        return y if self.prior is None else self.prior

    def prices(self, point: Equilibrium) -> np.ndarray:
        """Return (p, -lambda, 2 B) (n x (2 + r)), G = B B^T, at a saddle point.

        For any t in R^r and every row s, sum_u s_u (2 b_u^T t - lambda_u - p_u ||t||^2) <= g_s - lambda^T s, with
        equality for t = B^T s/p^T s: what a row of other patterns would gain is the largest of these sums.
        """
        answers = self._inverses(point.theta, point.mixture)[1]
        B = answers if self.prior is None else np.sqrt(point.mixture)[:, None] * answers
        return np.column_stack([self.weights(point.mixture), -point.prices, 2 * B.T])

    def _inverses(self, theta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a root R of M^-1 = R^T R (n x n), and W M^-1 (r x n)."""
        lengths = self.rows @ self.weights(y)
        half = np.linalg.inv(np.linalg.cholesky((self.rows.T * (theta / lengths)) @ self.rows))
        return half, (self.queries @ half.T) @ half

    def derivatives(self, theta: np.ndarray, y: np.ndarray) -> Derivatives:
        """Return the derivatives at weights theta (m,) and a mixture y (k,).

        Raises:
            LinAlgError: if M is not positive definite in double precision.
        """
        S, W, p = self.rows, self.queries, self.weights(y)
        lengths = S @ p
        half, answers = self._inverses(theta, y)
        seen = S @ half.T
        factor = S @ _factor(answers if self.prior is None else np.sqrt(y)[:, None] * answers)
        gains = np.square(factor).sum(axis=1) / lengths
        curvature = Curvature(seen / lengths[:, None], math.sqrt(2) * factor)
        if self.prior is None:
            P = S / lengths[:, None]
            along = theta[:, None] * P
            turned = curvature.times(along)
            variances = (theta * gains) @ P - np.square(W).sum(axis=0)
            bend = along.T @ turned - 2 * (P.T * (theta * gains)) @ P
            return Derivatives(gains, variances, curvature, turned - gains[:, None] * P, bend)
        variances = np.square(W @ half.T).sum(axis=1) - np.square(W) @ p
        return Derivatives(
            gains,
            variances,
            curvature,
            np.square(S @ answers.T) / lengths[:, None],
            np.zeros((len(W), len(W))),
        )


def _factor(A: np.ndarray) -> np.ndarray:
    """Return B (n x r) with B B^T = A^T A up to rounding, A (k x n), r <= min(k, n)."""
    if len(A) <= A.shape[1]:
        values, vectors = np.linalg.eigh(A @ A.T)
        return A.T @ vectors[:, values > RANK * values[-1]]
    values, vectors = np.linalg.eigh(A.T @ A)
    kept = values > RANK * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


class Equilibrium(NamedTuple):
    """Nearly optimal weights and mixture."""

    theta: np.ndarray
    """Weights of the rows (m,), positive; columns sum to one up to rounding of the last step."""
    mixture: np.ndarray
    """The mixture (k,) at which these rows cannot have a mean variance smaller by more than the gap."""
    prices: np.ndarray
    """lambda (n,): no row given has a gain above lambda^T s."""
    value: float
    """The largest variance."""
    gap: float
    """How far the largest variance may be from the least, as a share, over the given rows."""


class _Point(NamedTuple):
    """Weights theta and a mixture y with the slacks z of theta >= 0 and v of y >= 0, and the prices of both sums."""

    theta: np.ndarray
    z: np.ndarray
    y: np.ndarray
    v: np.ndarray
    prices: np.ndarray
    """lambda (n,): a row may gain at most lambda^T s."""
    level: float
    """The largest variance, from above."""

    def moved(self, step: _Point, length: float) -> _Point:
        """Return the point after a share of a step."""
        theta, z, y, v, prices = (old + length * new for old, new in zip(self[:5], step[:5], strict=True))
        return _Point(theta, z, y, v, prices, self.level + length * step.level)

    def reach(self, step: _Point) -> float:
        """Return how far a step may go, at most 1."""
        return min(1.0, BOUNDARY * reach(np.concatenate(self[:4]), np.concatenate(step[:4])))

    @property
    def products(self) -> float:
        """theta^T z + y^T v, the duality gap where the sums are right."""
        return float(self.theta @ self.z + self.y @ self.v)


MISSED = 1e-7
"""Largest distance of a column sum from one of weights that are returned."""
EXACT = 2e-13
"""Largest distance of a column sum from one that counts as rounding."""


def play(game: Game, gap: float) -> Equilibrium:
    """Minimise max_i f_i over theta >= 0 with S^T theta = 1 by Newton steps, to a relative duality gap.

    The point is a saddle of f: z = S lambda - g >= 0 and v = tau - df/dy >= 0, theta_s z_s and y_i v_i on their way
    to zero. With Phi Phi^T the second derivative by theta, Phi^T dtheta, dlambda and dy are the unknowns of a step,
    whatever the number of rows; where rows are fewer than columns of Phi, dtheta itself takes its place.

    Raises:
        LinAlgError: if M is singular in double precision from the start.
    """
    size = math.sqrt(float(np.square(game.queries).sum(axis=0).mean()))
    game, found = Game(game.rows, game.queries / size, game.prior), None
    with on_one_core():
        for pace in PACES:
            last = _play(game, gap, pace)
            found = last if found is None else min(found, last, key=lambda one: one.gap)
            if found.gap <= SLACK * gap:
                break
    assert found is not None
    return found._replace(prices=size**2 * found.prices, value=size**2 * found.value)


def _play(game: Game, gap: float, pace: float) -> Equilibrium:
    """Return the saddle point of a game whose queries have size one."""
    S, theta = game.rows, np.ones(len(game.rows))
    theta, y = theta / (S.T @ theta).max(), np.full(game.size, 1 / game.size)
    at = game.derivatives(theta, y)
    prices = np.full(S.shape[1], 2 * at.gains.max() / S.shape[1])
    level = 2 * float(np.abs(at.variances).max())
    point = _Point(theta, S @ prices - at.gains, y, level - at.variances, prices, level)
    length, left, least, best = 0.5, [math.inf] * STUCK, math.inf, (point, level)
    for _ in range(STEPS):
        largest, excess = float(at.variances.max()), float((at.gains - S @ point.prices).max())
        left.append(max(point.products, largest - float(point.y @ at.variances)))
        off = max(left[-1], excess) / abs(largest)
        if off < least and np.abs(S.T @ point.theta - 1).max() <= MISSED:
            least, best = off, (point, largest)
        if off <= gap or left[-1] <= TINY * largest or left[-1] > left[-1 - STUCK] / 2:
            break
        target = max((1 - length) ** 2, pace) * point.products / (len(theta) + len(y))
        try:
            step = _step(game, at, point, target)
            length = point.reach(step)
            point = point.moved(step, length)
            at = game.derivatives(point.theta, point.y)
        except np.linalg.LinAlgError:  # rounding ends the progress
            break
    point, value = best
    return Equilibrium(point.theta, point.y / point.y.sum(), point.prices, value, least)


def _step(game: Game, at: Derivatives, point: _Point, target: float) -> _Point:
    """Return the step after which theta_s z_s and y_i v_i are `target` to first order, the sums right.

    What a solution leaves of the four equations is solved for again: weights near zero and others differ so much that
    the first solution has lost digits.
    """
    theta, z, y, v, prices, level = point
    S, D, bent = game.rows, theta / z, np.diag(v / y) - at.bend
    n, k = S.shape[1], len(y)
    solved = (_over_products if at.curvature.wide is not None else _over_rows)(at, S, D, bent)
    ones = np.append(np.zeros(n), np.ones(k))
    apart = solved(np.zeros(len(theta)), ones)
    dtheta, dprices, dy, dlevel = 0 * theta, 0 * prices, 0 * y, 0.0
    for _ in range(REFINED):
        right = at.gains - S @ (prices + dprices) + target / theta - dtheta / D
        right -= at.curvature.times(dtheta) - at.mixed @ dy
        short = S.T @ (theta + dtheta) - 1
        steep = at.variances - level - dlevel + target / y - bent @ dy - at.mixed.T @ dtheta
        moved, others = solved(right, np.append(short, steep))
        rise = float((others[n:].sum() - (1 - y.sum() - dy.sum())) / apart[1][n:].sum())
        moved, others = moved - rise * apart[0], others - rise * apart[1]
        dtheta = dtheta + moved
        dprices, dy, dlevel = dprices + others[:n], dy + others[n:], dlevel + rise
    dz, dv = target / theta - z - z / theta * dtheta, target / y - v - v / y * dy
    return _Point(dtheta, dz, dy, dv, dprices, dlevel)


Solved = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""From (a, b), of shapes (m,) and (n + k,), to (t, u) with (D^-1 + H) t + C u = a and J u - C^T t = b."""


def _over_products(at: Derivatives, S: np.ndarray, D: np.ndarray, bent: np.ndarray) -> Solved:
    """Return the solution of a step with Phi^T dtheta in place of dtheta, for many rows; C = (S, -mixed)."""
    wide = at.curvature.wide
    assert wide is not None
    q, n = wide.shape[1], S.shape[1]
    wide = np.hstack([wide, S, -at.mixed])
    system = (wide.T * D) @ wide
    system[:q, :q] += np.eye(q)
    system[q + n :, q + n :] += bent
    inverse = _inverse(system)

    def solved(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wanted = wide.T @ (D * a)
        wanted[q:] += b
        found = inverse(wanted)
        return D * (a - wide @ found), found[q:]

    return solved


def _over_rows(at: Derivatives, S: np.ndarray, D: np.ndarray, bent: np.ndarray) -> Solved:
    """Return the solution of a step with dtheta itself, for few rows."""
    n, C = S.shape[1], np.hstack([S, -at.mixed])
    inverse = _inverse(np.diag(1 / D) + at.curvature.whole)
    inner = inverse(C)
    system = C.T @ inner
    system[n:, n:] += bent
    outer = _inverse(system)

    def solved(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        u = outer(inner.T @ a + b)
        return inverse(a) - inner @ u, u

    return solved


def _inverse(A: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return b -> A^-1 b, b (q,) or (q x k), for a positive definite A (q x q), its diagonal scaled to one."""
    if not (np.diag(A) > 0).all():
        raise np.linalg.LinAlgError("a diagonal entry is not positive")
    scale, ridge = 1 / np.sqrt(np.diag(A)), 0.0
    A = A * scale * scale[:, None]
    while True:
        try:
            root = cho_factor(A + ridge * np.eye(len(A)), lower=True, overwrite_a=True, check_finite=False)
            return lambda b: (scale * cho_solve(root, (scale * b.T).T, check_finite=False).T).T
        except np.linalg.LinAlgError:
            ridge = max(10 * ridge, RIDGE)
            if not ridge < WIDEST:
                raise


def lightened(rows: np.ndarray, theta: np.ndarray, share: float) -> np.ndarray | None:
    """Return theta (m,) with zeros for the rows (m x n) of at most a share of probability; None where others cannot do.

    The others change by the least relative amount that brings column sums back to one. A row of tiny weight answers
    hardly anything, but makes M regular where it is not, so that M^-1 has few digits.
    """
    kept = theta * rows.mean(axis=1) > share
    S, weights = rows[kept], theta[kept]
    for _ in range(REFINED):
        root = np.sqrt(weights)
        weights = weights + root * np.linalg.lstsq((root[:, None] * S).T, 1 - S.T @ weights)[0]
        if not (weights > 0).all():
            return None
    if np.abs(S.T @ weights - 1).max() > EXACT:
        return None
    found = np.zeros(len(theta))
    found[kept] = weights
    return found
