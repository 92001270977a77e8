"""New patterns for a design: local search for patterns of positive score at its dual prices."""

from __future__ import annotations

from typing import Any, NamedTuple

from stratagem.math.computing import largest, namespace, repeat

Array = Any
"""An array of NumPy or of JAX; all arrays of one call are of one kind."""

LINEAR = 4
"""Most moves of a local search that may change any number of cells; the others change one or two."""


class Prices(NamedTuple):
    """Dual prices, which give a pattern T the score x^T K x - mu - nu^T x, positive if adding T lowers L.

    x = c (b - f 1)/(1 + c f), c = E - 1, b the 0/1 vector of T, f = w(T) its mass under the prior w (k/n in
    the average case). At the optimum no score is positive (theory.md, section 3).
    """

    K: Array
    """C^-1 V_c C^-1/n (n x n), K 1 = 0."""
    mu: Array
    nu: Array
    """(n,), sum zero."""
    c: Array
    """E - 1."""
    prior: Array
    """w (n,)."""

    def scale(self, mass: Array) -> Array:
        """Return alpha = c/(1 + c f) for masses f, so that x = alpha (b - f 1)."""
        return self.c / (1 + self.c * mass)


def scores(B: Array, KB: Array, prices: Prices) -> Array:
    """Return the scores (m,) of patterns B (m x n, 0/1), given B K."""
    alpha = prices.scale(B @ prices.prior)
    return alpha**2 * (B * KB).sum(axis=1) - alpha * (B @ prices.nu) - prices.mu


def flips(B: Array, KB: Array, prices: Prices) -> Array:
    """Return the scores (m x n) after moving one cell into or out of each pattern."""
    xp, n = namespace(B), B.shape[1]
    sign = 1 - 2 * B
    k = B.sum(axis=1, keepdims=True) + sign
    alpha = prices.scale((B @ prices.prior)[:, None] + sign * prices.prior)
    quadratic = (B * KB).sum(axis=1, keepdims=True) + 2 * sign * KB + xp.diag(prices.K)
    linear = (B @ prices.nu)[:, None] + sign * prices.nu
    moved = alpha**2 * quadratic - alpha * linear - prices.mu
    return xp.where((k > 0) & (k < n), moved, -xp.inf)


def slope(B: Array, KB: Array, prices: Prices) -> tuple[Array, Array]:
    """Return alpha (m x 1) and the slope (m x n) of (1 + c f) score/c in the cells of each pattern.

    (1 + c f) x^T K x is convex in b. Its dependence on f moves all cells alike in the average case.
    """
    alpha = prices.scale(B @ prices.prior)[:, None]
    quadratic = alpha**2 * (B * KB).sum(axis=1, keepdims=True)
    tilt = len(prices.prior) * prices.prior - 1
    return alpha, 2 * alpha * KB - prices.nu - (quadratic + prices.mu) / len(prices.prior) * tilt


def exchange(B: Array, KB: Array, prices: Prices) -> tuple[Array, Array, Array]:
    """Return for each pattern a cell to remove, the best cell to add after that, and the new score, each (m,)."""
    xp = namespace(B)
    alpha, base = slope(B, KB, prices)
    curved = alpha * xp.diag(prices.K)
    leaving = xp.argmax(xp.where(B > 0, curved - base, -xp.inf), axis=1)
    gain = base + curved - 2 * alpha * prices.K[leaving]
    entering = xp.argmax(xp.where(B > 0, -xp.inf, gain), axis=1)
    rows, K = xp.arange(len(B)), prices.K
    turned = (B * KB).sum(axis=1) + K[leaving, leaving] + K[entering, entering]
    turned += 2 * (KB[rows, entering] - KB[rows, leaving] - K[leaving, entering])
    linear = B @ prices.nu - prices.nu[leaving] + prices.nu[entering]
    scale = prices.scale(B @ prices.prior - prices.prior[leaving] + prices.prior[entering])
    return leaving, entering, scale**2 * turned - scale * linear - prices.mu


def ascend(B: Array, KB: Array, prices: Prices) -> Array:
    """Return for each row of B the pattern of the same size that maximises the linearised score.

    In the average case this cannot lower the score, which is convex for a fixed size.
    """
    xp, gain = namespace(B), slope(B, KB, prices)[1]
    # cells already inside win ties
    gain = gain + B * 1e-12 * xp.abs(gain).max()
    return largest(gain, B.sum(axis=1)).astype(B.dtype)


def moved(B: Array, KB: Array, prices: Prices) -> tuple[Array, Array]:
    """Return B and B K after one move of each pattern, if the move raises its score.

    The move is the better of the best flip of one cell and of the exchange that `exchange` finds.
    """
    xp, rows, cells = namespace(B), namespace(B).arange(len(B)), namespace(B).arange(B.shape[1])
    tried = flips(B, KB, prices)
    cell = xp.argmax(tried, axis=1)
    leaving, entering, exchanged = exchange(B, KB, prices)
    best = xp.maximum(tried[rows, cell], exchanged)
    gains = best > scores(B, KB, prices) + 1e-9 * xp.abs(prices.mu)
    flipped = exchanged < best
    first = xp.where(flipped, cell, leaving)
    for place, used in ((first, gains), (entering, gains & ~flipped)):
        change = xp.where(used, 1 - 2 * B[rows, place], 0)
        B = B + xp.where(cells == place[:, None], change[:, None], 0)
        KB = KB + change[:, None] * prices.K[place]
    return B, KB


def search(B: Array, prices: Prices, steps: int) -> tuple[Array, Array]:
    """Return patterns (m x n) and scores (m,) after at most `steps` moves uphill from each given pattern.

    The first moves go to the top cells of the linearised score, `LINEAR` at most, the others change one or two cells.
    """
    xp = namespace(B)

    def leap(B: Array) -> Array:
        KB = B @ prices.K
        top = ascend(B, KB, prices)
        better = scores(top, top @ prices.K, prices) > scores(B, KB, prices) + 1e-9 * xp.abs(prices.mu)
        return xp.where(better[:, None], top, B)

    def step(now: tuple[Array, Array]) -> tuple[Array, Array]:
        return moved(now[0], now[1], prices)

    B = repeat(xp, min(steps, LINEAR), leap, B)
    B, _ = repeat(xp, steps, step, (B, B @ prices.K))
    return B, scores(B, B @ prices.K, prices)
