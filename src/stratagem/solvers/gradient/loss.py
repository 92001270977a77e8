"""The objective L(Q) = tr(M^-1 V) as compiled code with its closed-form gradient."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

MAX_NEWTON = 30
NEARLY = 0.7
"""Newton's method stops at column errors of eps^0.7: its convergence is quadratic by then, to rounding errors."""
SHORTEST = 1e-3
"""Shortest share of a Newton step worth trying."""


class _Dual(NamedTuple):
    """An iterate of Newton's method on the multipliers of the column sums."""

    multipliers: jax.Array
    value: jax.Array
    passes: jax.Array
    done: jax.Array


def reweigh(Q: jax.Array, g: jax.Array) -> jax.Array:
    """Return weights theta (m,) with theta^T Q = 1 that lower the objective of diag(theta) Q.

    M(theta) = sum_y theta_y q_y q_y^T / d_y, so L is convex in theta, and with g_y = q_y^T G q_y / d_y at
    theta = 1 the bound L(theta) <= sum_y g_y / theta_y is tight at theta = 1. Its minimum under
    theta^T Q = 1 is theta_y = (g_y / lambda^T q_y)^(1/2), lambda the maximum of the concave
    2 sum_y (g_y lambda^T q_y)^(1/2) - 1^T lambda: a monotone step, n unknowns, a few Newton steps.
    Scaling rows changes no ratio within a row, so epsilon stays as it is.
    """
    tiny = jnp.finfo(Q.dtype).tiny
    root = jnp.sqrt(jnp.maximum(g, 0))

    def value(multipliers: jax.Array) -> jax.Array:
        prices = Q @ multipliers
        reward = 2 * (root * jnp.sqrt(jnp.maximum(prices, 0))).sum() - multipliers.sum()
        return jnp.where((prices > 0).all(), reward, -jnp.inf)

    def improve(at: _Dual) -> _Dual:
        prices = Q @ at.multipliers
        weights = root / jnp.sqrt(prices)
        slope = weights @ Q - 1
        curvature = symmetric_product(Q * jnp.sqrt(0.5 * weights / prices)[:, None])
        ridge = 1e-13 * jnp.trace(curvature) / len(slope) + tiny
        root_inverse = inverse_cholesky(curvature + ridge * jnp.eye(len(slope), dtype=Q.dtype))
        step = (root_inverse @ slope) @ root_inverse

        def halve(trial: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            length = 0.5 * trial[0]
            return length, value(at.multipliers + length * step)

        def refused(trial: tuple[jax.Array, jax.Array]) -> jax.Array:
            return ~(trial[1] > at.value) & (trial[0] > SHORTEST)

        whole = jnp.ones_like(at.value)
        length, reached = jax.lax.while_loop(refused, halve, (whole, value(at.multipliers + step)))
        better = reached > at.value
        multipliers = jnp.where(better, at.multipliers + length * step, at.multipliers)
        done = ~better | (jnp.abs(slope).max() <= jnp.finfo(Q.dtype).eps ** NEARLY)
        return _Dual(multipliers, jnp.where(better, reached, at.value), at.passes + 1, done)

    flat = jnp.full(Q.shape[1], g.sum() / Q.shape[1], dtype=Q.dtype)
    first = _Dual(flat, value(flat), jnp.asarray(0), jnp.asarray(False))
    last = jax.lax.while_loop(lambda at: ~at.done & (at.passes < MAX_NEWTON), improve, first)
    return root / jnp.sqrt(Q @ last.multipliers)


def merged(Q: np.ndarray) -> np.ndarray:
    """Return Q with proportional rows added together, which changes neither M nor epsilon."""
    Q = Q[Q.max(axis=1) > 0]
    shapes = np.round(Q / Q.max(axis=1, keepdims=True), 9)
    _, group = np.unique(shapes, axis=0, return_inverse=True)
    order = np.argsort(group, kind="stable")
    firsts = np.flatnonzero(np.diff(group[order], prepend=-1))
    return np.add.reduceat(Q[order], firsts)


LEAF = 16
"""Block handed to LAPACK, small enough to stay on one thread; larger matrices stop at n/64."""


class Evaluation(NamedTuple):
    """The value of L at Q, with the two matrices that its gradient is computed from."""

    value: jax.Array
    inverse: jax.Array
    """K = C^-1 (n x n), C the Cholesky factor of M, so that M^-1 = K^T K."""
    half: jax.Array
    """K F (n x n), lower triangular."""


def evaluate(Q: jax.Array, F: jax.Array) -> Evaluation:
    """Return L(Q) = tr(M^-1 V) = ||K F||_F^2 for V = F F^T, F lower triangular, M = Q^T D^-1 Q = (K^T K)^-1.

    One product of 2 m n^2 operations and a few of n^3. A ridge of a few ulp keeps M, whose eigenvalues
    lie in [0, 1], positive definite; where rounding beats it the value is not a number, which every line
    search rejects.
    """
    n = Q.shape[1]
    ridge = n * jnp.finfo(Q.dtype).eps
    M = information(Q)
    inverse = inverse_cholesky(M + ridge * jnp.eye(n, dtype=Q.dtype), max(LEAF, n // 64))
    half = lower_product(inverse, F)
    return Evaluation(jnp.square(half).sum(), inverse, half)


def information(Q: jax.Array) -> jax.Array:
    """Return M = Q^T D^-1 Q (n x n)."""
    return symmetric_product(Q / jnp.sqrt(Q.sum(axis=1, keepdims=True)))


def symmetric_product(S: jax.Array, parts: int = 4) -> jax.Array:
    """Return S^T S block by block above the diagonal: 5/8 of the work of a full product."""
    blocks = jnp.split(S, [S.shape[1] * k // parts for k in range(1, parts)], axis=1)
    rows: list[list[jax.Array]] = []
    for i, left in enumerate(blocks):
        rows.append([rows[j][i].T for j in range(i)] + [left.T @ right for right in blocks[i:]])
    return jnp.block(rows)


def lower_product(K: jax.Array, F: jax.Array, parts: int = 4) -> jax.Array:
    """Return K F for lower triangular K and F (n x n), strip by strip: half of the work of a full product."""
    n = len(K)
    ends = [n * k // parts for k in range(parts + 1)]
    strips = [K[start:end, :end] @ F[:end, :end] for start, end in pairwise(ends)]
    return jnp.concatenate([jnp.pad(strip, ((0, 0), (0, n - strip.shape[1]))) for strip in strips])


def crossed_product(L: jax.Array, K: jax.Array, parts: int = 4) -> jax.Array:
    """Return L^T K for lower triangular L and K (n x n), strip by strip: 5/8 of the work of a full product."""
    ends = [len(K) * k // parts for k in range(parts + 1)]
    strips = [L[start:].T @ K[start:, start:end] for start, end in pairwise(ends)]
    return jnp.concatenate(strips, axis=1)


def gradient(Q: jax.Array, evaluation: Evaluation) -> jax.Array:
    """Return dL/dQ = -2 D^-1 Q G + (q_y^T G q_y / d_y^2) 1^T row by row, G = M^-1 V M^-1.

    One more product of 2 m n^2 operations; automatic differentiation needs two to three.
    """
    A = Q @ symmetric_product(crossed_product(evaluation.half, evaluation.inverse))
    inverse = 1 / Q.sum(axis=1, keepdims=True)
    return inverse * (inverse * (A * Q).sum(axis=1, keepdims=True) - 2 * A)


def inverse_cholesky(M: jax.Array, leaf: int = LEAF) -> jax.Array:
    """Return K = C^-1 (lower triangular) for M = C C^T, by halves: products all the way down to small leaves.

    Products run at full speed on every device; LAPACK on the whole matrix would fight the compiler's own
    threads for the cores, which costs more than the factorisation itself.
    """
    n = len(M)
    if n <= leaf:
        factor = jnp.linalg.cholesky(M, symmetrize_input=False)
        return solve_triangular(factor, jnp.eye(n, dtype=M.dtype), lower=True)
    h = n // 2
    upper = inverse_cholesky(M[:h, :h], leaf)
    below = M[h:, :h] @ upper.T
    lower = inverse_cholesky(M[h:, h:] - below @ below.T, leaf)
    corner = -(lower @ below) @ upper
    return jnp.block([[upper, jnp.zeros((h, n - h), dtype=M.dtype)], [corner, lower]])
