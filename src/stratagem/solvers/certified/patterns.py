"""Patterns of the certified solver: first ones, random with a wanted covariance or of fixed families, and new ones.

New ones come from a local search for patterns of positive score at the dual prices of a design.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.fft import dct
from scipy.linalg import hadamard

from stratagem.bounds.duals import WeightedDual
from stratagem.math.computing import largest, namespace, repeat

EXHAUSTIVE = 12
"""Domain size up to which all 2^n - 2 patterns are listed."""
SPREAD = 8.0
"""Mean pattern size below which sizes are drawn from a range, because rounding them to integers matters there."""


def field_factor(information: np.ndarray) -> np.ndarray:
    """Return L (n x r), L L^T = sin(pi/2 R) with R the correlations of Y (n x n), negative eigenvalues cut.

    Signs of a Gaussian field with correlations sin(pi/2 R) have correlations R (theory.md, section 5).
    """
    scale = np.sqrt(np.maximum(np.diag(information), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(np.sin(np.pi / 2 * np.clip(information / np.outer(scale, scale), -1, 1)))
    keep = values > 1e-9 * values[-1]
    return vectors[:, keep] * np.sqrt(values[keep])


def root_fields(V: np.ndarray) -> np.ndarray:
    """Return `field_factor` of V^(1/2) (n x n), the information that the closed bound asks for."""
    values, vectors = np.linalg.eigh(V)
    return field_factor((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)


def gaussian_patterns(
    target: WeightedDual, factor: np.ndarray, E: float, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Return patterns (count x n): the largest cells of Gaussian fields up to a gamma-mass of sum(gamma)/(1 + E).

    Every pattern on the support of an ideal optimum has that mass. The last cell enters with the
    probability that makes the mass right on average. Where few cells make up the mass, it varies more.
    """
    r = factor.shape[1]
    blocks = [
        _top_mass(orthogonal_rows(min(r, count - first), r, rng) @ factor.T, target.gamma, E, rng)
        for first in range(0, count, r)
    ]
    return np.concatenate([np.zeros((0, len(factor)), dtype=bool), *blocks])


def orthogonal_rows(count: int, r: int, rng: np.random.Generator) -> np.ndarray:
    """Return count <= r rows of a random orthogonal matrix, each of length sqrt(r), count x r.

    Random signs and cosine transforms in turn make the entries nearly Gaussian. A full block of r rows has
    the covariance I exactly, so only the thresholds add noise to the information matrix.
    """
    rows = np.eye(r)
    for _ in range(3):
        rows = np.asarray(dct(rows * rng.choice([-1.0, 1.0], r), axis=1, norm="ortho"))
    return rows[rng.permutation(r)[:count]] * (rng.choice([-1.0, 1.0], r) * math.sqrt(r))


def _top_mass(field: np.ndarray, gamma: np.ndarray, E: float, rng: np.random.Generator) -> np.ndarray:
    """Return the cells (m x n) bool of the largest values of each field, up to a gamma-mass of sum(gamma)/(1 + E)."""
    n = len(gamma)
    order = np.argsort(-field, axis=1)
    reached = np.cumsum(gamma[order], axis=1)
    cells = n / (1 + E)
    width = 1.0 if cells >= SPREAD else 2 * max(cells, 1.0)
    wanted = gamma.sum() / (1 + E) + (rng.random((len(field), 1)) - 0.5) * width * gamma.mean()
    return top_cells(order, np.clip((reached < wanted).sum(axis=1), 1, max(1, n - 1)))


def top_cells(order: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the patterns of the first sizes[y] cells of each row of `order` (m x n)."""
    inside = np.arange(order.shape[1]) < sizes[:, None]
    patterns = np.zeros(order.shape, dtype=bool)
    np.put_along_axis(patterns, order, inside, axis=1)
    return patterns


def juntas(
    sizes: tuple[int, ...], E: float, count: int, rng: np.random.Generator, most: int = 4
) -> np.ndarray:
    """Return patterns (count x n) that depend on at most `most` attributes of a domain of the given sizes.

    Low-order marginals need energy only at characters of few attributes, where such patterns have theirs.
    """
    cells = np.indices(sizes).reshape(len(sizes), -1)
    rows = []
    for _ in range(count):
        chosen = rng.permutation(len(sizes))[: rng.integers(1, min(most, len(sizes)) + 1)]
        grid = tuple(sizes[a] for a in chosen)
        total = int(np.prod(grid))
        size = total / (1 + E)
        size = int(np.clip(np.floor(size + rng.random()), 1, max(1, total - 1)))
        subset = np.zeros(total, dtype=bool)
        subset[rng.permutation(total)[:size]] = True
        rows.append(subset[np.ravel_multi_index(tuple(cells[chosen]), grid)])
    return np.array(rows)


def distinct(patterns: np.ndarray, known: np.ndarray | None = None) -> np.ndarray:
    """Return the distinct proper patterns (neither empty nor full), in order, without those in `known`."""
    sizes = patterns.sum(axis=1)
    patterns = patterns[(sizes > 0) & (sizes < patterns.shape[1])]
    old = 0 if known is None else len(known)
    every = patterns if known is None else np.concatenate([known, patterns])
    packed = np.packbits(every, axis=1)
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first = np.unique(keys, return_index=True)
    first = np.sort(first)
    return every[first[first >= old]]


def published_patterns(n: int, most: int = 512) -> np.ndarray:
    """Return patterns (k x n) of published mechanisms, Hadamard columns and tree nodes; none above n = `most`."""
    if not 2 <= n <= most:
        return np.zeros((0, n), dtype=bool)
    columns = hadamard(1 << n.bit_length())[:, 1 : n + 1] > 0
    widths = [b**level for b in (2, 4) for level in range(n.bit_length()) if b**level < n]
    nodes = [np.arange(n) // width == np.arange(-(-n // width))[:, None] for width in widths]
    return np.concatenate([columns, *nodes])


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
