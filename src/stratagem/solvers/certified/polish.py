"""The polish, last stage of `Certified` where rows are few: the projected gradient moves entries off the two levels.

An optimal strategy needs two levels only, but many rows. With few rows, values between the levels lower the objective,
because such a row replaces several two-level rows. A descent ends in a local minimum; the next one starts from the best
matrix with its lightest rows replaced by rows that its prices undervalue (`row_prices`; theory.md, section 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stratagem.math.deadline import deadline
from stratagem.math.linalg import centred_factor
from stratagem.math.privacy import ratio
from stratagem.solvers.certified.pricing import Prices, search
from stratagem.solvers.gradient.projected_gradient import ProjectedGradient
from stratagem.solvers.problem import Problem
from stratagem.solvers.solver import Limits
from stratagem.strategies import Strategy, TwoLevelStrategy

if TYPE_CHECKING:
    from stratagem.solvers.gradient.descent import Point

SHARES = (0.02, 0.05, 0.1, 0.25, 0.5)
"""Shares of the rows to replace, one drawn at random each time; large shares lead to other local minima."""
SHAKE = 0.02
"""Size of the random term that is added to a score, relative to mu, so that renewals differ."""
MOVES = 8
"""Most moves of one local search for a pattern."""


def row_prices(Q: np.ndarray, F: np.ndarray, E: float) -> Prices:
    """Return the dual prices at which patterns are scored as additions to the rows of Q (m x n), V_c = F F^T.

    With p = Q 1/n and x = q/p - 1, C = sum p x x^T/n. At optimal weights x^T K x = mu + nu^T x in every row,
    K = C^-1 V_c C^-1/n; mu and nu are fitted to that by least squares weighted with p.
    """
    Q = Q[Q.max(axis=1) > 0]
    n = Q.shape[1]
    p = Q.mean(axis=1)
    X = Q / p[:, None] - 1
    values, vectors = np.linalg.eigh(X.T @ (p[:, None] * X) / n)
    kept = values > 1e-12 * values[-1]
    root = (vectors[:, kept] / values[kept]) @ (vectors[:, kept].T @ F) / np.sqrt(n)
    energy = np.square(X @ root).sum(axis=1)
    basis = np.column_stack([np.ones(len(p)), X]) * np.sqrt(p)[:, None]
    mu, *nu = np.linalg.lstsq(basis, np.sqrt(p) * energy, rcond=1e-10)[0]
    numbers = (root @ root.T, mu, np.array(nu) - np.mean(nu), E - 1, np.full(n, 1 / n))
    return Prices(*(np.asarray(number, dtype=float) for number in numbers))


def undervalued(Q: np.ndarray, prices: Prices, rng: np.random.Generator) -> np.ndarray:
    """Return distinct patterns (boolean, k x n) in falling order of their score plus a small random term.

    The local search starts from the patterns of the rows with a few cells changed, and from random sets.
    """
    m, n = Q.shape
    half = int(np.clip(8 * n, 128, 1024))
    weight = Q.sum(axis=1)
    drawn = Q[rng.choice(m, half, p=weight / weight.sum())]
    near = (drawn > drawn.mean(axis=1, keepdims=True)) ^ (rng.random((half, n)) < 1 / n)
    far = rng.random((half, n)) < rng.random((half, 1))
    found, scores = search(np.concatenate([near, far]).astype(float), prices, MOVES)
    patterns, first = np.unique(found > 0.5, axis=0, return_index=True)
    worth = scores[first] + SHAKE * float(prices.mu) * rng.random(len(first))
    return patterns[np.argsort(-worth)]


def repriced_rows(
    Q: np.ndarray, z: np.ndarray, F: np.ndarray, E: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return a start (R, z) near Q with its lightest rows replaced by undervalued two-level rows."""
    patterns = undervalued(Q, row_prices(Q, F, E), rng)
    light = np.argsort(Q.sum(axis=1))[: max(1, int(rng.choice(SHARES) * len(Q)))][: len(patterns)]
    R, z = np.array(Q, dtype=float), np.array(z, dtype=float)
    z[light] = z.mean()
    R[light] = z[light, None] * np.where(patterns[: len(light)], E, 1)
    total = R.sum(axis=0).mean()
    return R / total, z / total


STRIDE = 25
"""Gradient steps that count as one step of the search, about as much work as a round of weights."""
STRIDES = 80
"""Number of such steps that a start may take in addition to the rounds of column generation."""


@dataclass(frozen=True, eq=False)
class Polish:
    """A descent of the projected gradient within another search."""

    point: Point

    @staticmethod
    def begun(problem: Problem, rows: TwoLevelStrategy | None, outputs: int, seed: int) -> Polish:
        """Return the start of a descent with `outputs` rows: from `rows`, repeated as needed, or random if None."""
        start = None if rows is None else rows.dense()
        gradient = ProjectedGradient(outputs=outputs, seed=seed, start=start)
        return Polish(gradient.begin(problem, 0, None))

    @property
    def objective(self) -> float:
        """L(Q) with the regularised V of the descent."""
        return self.point.objective

    @property
    def stuck(self) -> bool:
        """Whether even the shortest step along the gradient was refused."""
        return self.point.stuck

    def renewed(self, problem: Problem, seed: int, start: int) -> Polish:
        """Return the start of a descent from this matrix, its lightest rows replaced by undervalued ones."""
        rng, F = np.random.default_rng([seed, start]), centred_factor(problem.gram)
        Q, z = np.asarray(self.point.Q), np.asarray(self.point.z)
        rows = repriced_rows(Q, z, F, ratio(problem.epsilon), rng)
        return Polish(ProjectedGradient().begin_at(problem, *rows))

    def advanced(self, problem: Problem) -> Polish:
        """Return the descent after `STRIDE` more gradient steps, or fewer if it is stuck or out of time."""
        point = self.point
        for _ in range(STRIDE):
            point = ProjectedGradient().advance(problem, point)
            if point.stuck or deadline().over:
                break
        return Polish(point)

    def settled(self, rounds: Limits) -> None:
        """Return None, as nothing follows a polish."""

    def strategy(self, problem: Problem, most: int | None) -> Strategy:
        """Return the strategy at the current point, projected so that it is exactly feasible."""
        return ProjectedGradient().finish(problem, self.point)
