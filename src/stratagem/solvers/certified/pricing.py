"""New patterns for a design: local search for rows that its multipliers undervalue."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Prices(NamedTuple):
    """The worth of a pattern T of k cells: score(T) = x^T K x - mu - nu^T x, positive if it helps.

    x = c (b - f 1)/(1 + c f), c = E - 1, b the 0/1 vector of T, f = w(T) its mass under the prior w (k/n in
    the average case). At the optimum no score is positive (theory: the Karush-Kuhn-Tucker conditions of the
    design problem).
    """

    K: jax.Array
    """C^-1 V_c C^-1/n (n x n), K 1 = 0."""
    mu: jax.Array
    nu: jax.Array
    """(n,), sum zero."""
    c: jax.Array
    """E - 1."""
    prior: jax.Array
    """w (n,)."""

    def scale(self, mass: jax.Array) -> jax.Array:
        """Return alpha = c/(1 + c f), so that x = alpha (b - f 1)."""
        return self.c / (1 + self.c * mass)


def scores(B: jax.Array, KB: jax.Array, prices: Prices) -> jax.Array:
    """Return the score of patterns B (m x n, 0/1), given B K."""
    alpha = prices.scale(B @ prices.prior)
    return alpha**2 * (B * KB).sum(axis=1) - alpha * (B @ prices.nu) - prices.mu


def flips(B: jax.Array, KB: jax.Array, prices: Prices) -> jax.Array:
    """Return the scores (m x n) after moving one cell into or out of each pattern."""
    n = B.shape[1]
    sign = 1 - 2 * B
    k = B.sum(axis=1, keepdims=True) + sign
    alpha = prices.scale((B @ prices.prior)[:, None] + sign * prices.prior)
    quadratic = (B * KB).sum(axis=1, keepdims=True) + 2 * sign * KB + jnp.diag(prices.K)
    linear = (B @ prices.nu)[:, None] + sign * prices.nu
    moved = alpha**2 * quadratic - alpha * linear - prices.mu
    return jnp.where((k > 0) & (k < n), moved, -jnp.inf)


def slope(B: jax.Array, KB: jax.Array, prices: Prices) -> tuple[jax.Array, jax.Array]:
    """Return alpha (m x 1) and the slope (m x n) of (1 + c f) score/c in the cells of each pattern.

    (1 + c f) x^T K x is convex in b. Its dependence on f moves all cells alike in the average case.
    """
    alpha = prices.scale(B @ prices.prior)[:, None]
    quadratic = alpha**2 * (B * KB).sum(axis=1, keepdims=True)
    tilt = len(prices.prior) * prices.prior - 1
    return alpha, 2 * alpha * KB - prices.nu - (quadratic + prices.mu) / len(prices.prior) * tilt


def swap(B: jax.Array, KB: jax.Array, prices: Prices) -> jax.Array:
    """Exchange in each pattern the pair of cells that gains most to first order; sizes stay."""
    alpha, base = slope(B, KB, prices)
    curved = alpha * jnp.diag(prices.K)
    leaving = jnp.argmax(jnp.where(B > 0, curved - base, -jnp.inf), axis=1)
    cross = 2 * alpha * prices.K[leaving]
    entering = jnp.argmax(jnp.where(B > 0, -jnp.inf, base + curved - cross), axis=1)
    rows = jnp.arange(len(B))
    return B.at[rows, leaving].set(0).at[rows, entering].set(1)


def ascend(B: jax.Array, KB: jax.Array, prices: Prices) -> jax.Array:
    """Return the best pattern of the same size for the score linearised at B; convex, so it cannot lose."""
    gain = slope(B, KB, prices)[1]
    # cells already inside win ties
    gain = gain + B * 1e-12 * jnp.abs(gain).max()
    ranks = jnp.argsort(jnp.argsort(-gain, axis=1), axis=1)
    return (ranks < B.sum(axis=1, keepdims=True)).astype(B.dtype)


@partial(jax.jit, static_argnames=("steps",))
def search(B: jax.Array, prices: Prices, steps: int) -> tuple[jax.Array, jax.Array]:
    """Return patterns (m x n) and scores (m,) after at most `steps` moves uphill from each given pattern.

    A move is the best of: the top cells of the linearised score, the best single flip, a good exchange.
    """

    def step(_, B):
        KB = B @ prices.K
        now = scores(B, KB, prices)
        moved = flips(B, KB, prices)
        cell = jnp.argmax(moved, axis=1)
        rows = jnp.arange(len(B))
        flipped = B.at[rows, cell].set(1 - B[rows, cell])
        candidates = [flipped, swap(B, KB, prices), ascend(B, KB, prices)]
        values = [moved[rows, cell], *(scores(T, T @ prices.K, prices) for T in candidates[1:])]
        best, value = B, now
        for candidate, score in zip(candidates, values, strict=True):
            better = score > value + 1e-9 * jnp.abs(prices.mu)
            best = jnp.where(better[:, None], candidate, best)
            value = jnp.where(better, score, value)
        return best

    B = jax.lax.fori_loop(0, steps, step, B)
    return B, scores(B, B @ prices.K, prices)
