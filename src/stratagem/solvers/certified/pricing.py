"""New patterns for a design: local search for patterns of positive score at its dual prices."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

LINEAR = 4
"""Most moves of a local search that may change any number of cells; the others change one or two."""


class Prices(NamedTuple):
    """Dual prices, which give a pattern T the score x^T K x - mu - nu^T x, positive if adding T lowers L.

    x = c (b - f 1)/(1 + c f), c = E - 1, b the 0/1 vector of T, f = w(T) its mass under the prior w (k/n in
    the average case). At the optimum no score is positive (theory.md, section 3).
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
        """Return alpha = c/(1 + c f) for masses f, so that x = alpha (b - f 1)."""
        return self.c / (1 + self.c * mass)


def scores(B: jax.Array, KB: jax.Array, prices: Prices) -> jax.Array:
    """Return the scores (m,) of patterns B (m x n, 0/1), given B K."""
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


def exchange(B: jax.Array, KB: jax.Array, prices: Prices) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return for each pattern a cell to remove, the best cell to add after that, and the new score, each (m,)."""
    alpha, base = slope(B, KB, prices)
    curved = alpha * jnp.diag(prices.K)
    leaving = jnp.argmax(jnp.where(B > 0, curved - base, -jnp.inf), axis=1)
    gain = base + curved - 2 * alpha * prices.K[leaving]
    entering = jnp.argmax(jnp.where(B > 0, -jnp.inf, gain), axis=1)
    rows, K = jnp.arange(len(B)), prices.K
    turned = (B * KB).sum(axis=1) + K[leaving, leaving] + K[entering, entering]
    turned += 2 * (KB[rows, entering] - KB[rows, leaving] - K[leaving, entering])
    linear = B @ prices.nu - prices.nu[leaving] + prices.nu[entering]
    scale = prices.scale(B @ prices.prior - prices.prior[leaving] + prices.prior[entering])
    return leaving, entering, scale**2 * turned - scale * linear - prices.mu


def ascend(B: jax.Array, KB: jax.Array, prices: Prices) -> jax.Array:
    """Return for each row of B the pattern of the same size that maximises the linearised score.

    In the average case this cannot lower the score, which is convex for a fixed size.
    """
    gain = slope(B, KB, prices)[1]
    # cells already inside win ties
    gain = gain + B * 1e-12 * jnp.abs(gain).max()
    ranks = jnp.argsort(jnp.argsort(-gain, axis=1), axis=1)
    return (ranks < B.sum(axis=1, keepdims=True)).astype(B.dtype)


def moved(B: jax.Array, KB: jax.Array, prices: Prices) -> tuple[jax.Array, jax.Array]:
    """Return B and B K after one move of each pattern, if the move raises its score.

    The move is the better of the best flip of one cell and of the exchange that `exchange` finds.
    """
    rows = jnp.arange(len(B))
    tried = flips(B, KB, prices)
    cell = jnp.argmax(tried, axis=1)
    leaving, entering, exchanged = exchange(B, KB, prices)
    best = jnp.maximum(tried[rows, cell], exchanged)
    gains = best > scores(B, KB, prices) + 1e-9 * jnp.abs(prices.mu)
    flipped = exchanged < best
    first = jnp.where(flipped, cell, leaving)
    for place, used in ((first, gains), (entering, gains & ~flipped)):
        change = jnp.where(used, 1 - 2 * B[rows, place], 0)
        B = B.at[rows, place].add(change)
        KB = KB + change[:, None] * prices.K[place]
    return B, KB


@partial(jax.jit, static_argnames=("steps",))
def search(B: jax.Array, prices: Prices, steps: int) -> tuple[jax.Array, jax.Array]:
    """Return patterns (m x n) and scores (m,) after at most `steps` moves uphill from each given pattern.

    The first moves go to the top cells of the linearised score, `LINEAR` at most, the others change one or two cells.
    """

    def leap(_: int, B: jax.Array) -> jax.Array:
        KB = B @ prices.K
        top = ascend(B, KB, prices)
        better = scores(top, top @ prices.K, prices) > scores(B, KB, prices) + 1e-9 * jnp.abs(prices.mu)
        return jnp.where(better[:, None], top, B)

    def step(_: int, now: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        return moved(now[0], now[1], prices)

    B = jax.lax.fori_loop(0, min(steps, LINEAR), leap, B)
    B, _ = jax.lax.fori_loop(0, steps, step, (B, B @ prices.K))
    return B, scores(B, B @ prices.K, prices)
