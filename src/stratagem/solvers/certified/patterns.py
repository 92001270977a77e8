"""First patterns of the certified solver: random sets T with a wanted covariance, and fixed families."""

from __future__ import annotations

import math

import numpy as np
from scipy.fft import dct
from scipy.linalg import hadamard

from stratagem.bounds.duals import WeightedDual

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
