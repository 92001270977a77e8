"""Conversion of nearly feasible arrays to strategies, and of strategies to starting points of the gradient."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from stratagem.math.precision import working_in
from stratagem.math.privacy import ratio
from stratagem.solvers.gradient.projection import feasible_thresholds, project
from stratagem.strategies import MatrixStrategy

RENEWED = 0.25
"""Share of the rows that a restart replaces by random ones."""
NOISE = 1e-2
"""Relative noise on the entries of a warm start, enough to leave a symmetric saddle point."""


def as_strategy(Q: np.ndarray, z: np.ndarray, epsilon: float) -> MatrixStrategy:
    """Return the strategy nearest to Q (m x n) with rows in [z, E z], proportional rows merged.

    Guarantee:
        Measured epsilon at most `epsilon` and columns that sum to one within 1e-12: the projection works
        with a ratio 1e-14 below exp(epsilon), and the last normalisation moves entries by a few 1e-16.
    """
    with working_in("float64"):
        E = jnp.asarray(ratio(epsilon))
        thresholds = feasible_thresholds(jnp.asarray(z, dtype=float), E)
        Q = np.asarray(project(jnp.asarray(Q, dtype=float), thresholds, E))
    Q = merged(Q)
    return MatrixStrategy(Q / Q.sum(axis=0))


def merged(Q: np.ndarray) -> np.ndarray:
    """Return Q with proportional rows added together, which changes neither M nor epsilon."""
    Q = Q[Q.max(axis=1) > 0]
    shapes = np.round(Q / Q.max(axis=1, keepdims=True), 9)
    _, group = np.unique(shapes, axis=0, return_inverse=True)
    order = np.argsort(group, kind="stable")
    firsts = np.flatnonzero(np.diff(group[order], prepend=-1))
    return np.add.reduceat(Q[order], firsts)


def spread_rows(
    strategy: MatrixStrategy, outputs: int, E: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return a start (R, z) near a strategy: its rows repeated to `outputs`, with a little noise.

    The heaviest rows have one copy more where the numbers do not divide. z is the geometric mean of the
    thresholds max/E and min that the rows allow.
    """
    rows = strategy.matrix[strategy.row_sums > 0]
    copies, rest = divmod(max(outputs, len(rows)), len(rows))
    copies = np.full(len(rows), copies)
    copies[np.argsort(-rows.sum(axis=1))[:rest]] += 1
    rows = np.repeat(rows / copies[:, None], copies, axis=0)
    z = np.sqrt(rows.max(axis=1) / E * np.maximum(rows.min(axis=1), rows.max(axis=1) / E))
    return rows * (1 + NOISE * rng.standard_normal(rows.shape)), z


def renewed_rows(
    Q: np.ndarray, z: np.ndarray, E: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return a start (R, z) near Q with its lightest rows replaced by random rows of ordinary weight.

    A search that has converged to two-level rows rarely changes them any more; random rows let it find
    others.
    """
    d = Q.sum(axis=1)
    light = np.argsort(d)[: max(1, int(RENEWED * len(d)), int((d < 1e-3 * d.mean()).sum()))]
    R, z = np.array(Q, dtype=float), np.array(z, dtype=float)
    z[light] = 0.5 * z.mean() * rng.random(len(light))
    R[light] = z[light, None] * (1 + (E - 1) * rng.random((len(light), Q.shape[1])))
    total = R.sum(axis=0).mean()
    return R / total, z / total
