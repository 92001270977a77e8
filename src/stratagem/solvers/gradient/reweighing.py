"""Row weights: the best scaling of the rows of a strategy, a convex problem."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from stratagem.solvers.gradient.loss import inverse_cholesky, symmetric_product

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
