"""The slack of a dual certificate at a pattern: a quadratic form in the pattern's indicator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stratagem.prior import uniform


@dataclass(frozen=True, eq=False)
class Slack:
    """f(T) = (lambda^T s)(h^T s) - s^T G s for s = 1 + c 1_T, c = E - 1, as a sum over elements and pairs.

    h = n p for a prior p over the user types, h = 1 in the average case.
    f(T) = constant + sum_{i in T} linear_i + sum_{i<j in T} pair_ij. The pair (G, lambda) certifies
    L >= 2 tr (V^(1/2) G V^(1/2))^(1/2) - 1^T lambda exactly when f(T) >= 0 for all 2^n patterns.
    """

    constant: float
    linear: np.ndarray
    """(n,)"""
    pair: np.ndarray
    """(n, n), symmetric, zero on the diagonal."""
    magnitude: np.ndarray
    """(n + 1,): bound on the sum of the absolute values of all terms of f(T), by the size of T."""
    lengths: np.ndarray
    """(n + 1,): the least (1^T s)(h^T s) by size, (1^T s)^2 in the average case."""

    @classmethod
    def of(cls, G: np.ndarray, multiplier: np.ndarray, E: float, prior: np.ndarray | None = None) -> Slack:
        """Expand f for G (n x n, symmetric), lambda (n,) and a prior (n,)."""
        n, c, lam = len(multiplier), E - 1, multiplier
        h = n * (uniform(n) if prior is None else prior)
        total, G1, tilt = lam.sum(), G.sum(axis=1), lam[:, None] * h
        linear = c * (total * h + n * lam - 2 * G1) + c**2 * (lam * h - np.diag(G))
        pair = c**2 * (tilt + tilt.T - 2 * G)
        np.fill_diagonal(pair, 0.0)
        rise, size = c * np.arange(n + 1.0), np.arange(n + 1.0)
        # for G = B B^T as computed, |B| |B|^T, what rounding scales with, is at most this
        root = np.sqrt(np.maximum(np.diag(G), 0.0))
        A = np.maximum(np.abs(G), np.outer(root, root))
        magnitude = (n + 2 * rise * h.max()) * (np.abs(lam).sum() + 2 * rise * np.abs(lam).max())
        magnitude += A.sum() + 2 * rise * A.sum(axis=1).max() + rise**2 * A.max()
        lightest = np.concatenate([[0.0], np.cumsum(np.sort(h))])
        return cls(n * total - G1.sum(), linear, pair, magnitude, (n + c * size) * (n + c * lightest))

    @property
    def rounding(self) -> np.ndarray:
        """Bound on the rounding error of f(T) in float64, by size: sums of n sums of n terms lose 2 n ulp."""
        return 8 * len(self.linear) * np.finfo(float).eps * self.magnitude

    def values(self, X: np.ndarray) -> np.ndarray:
        """Return f for every row of X (N x n, zeros and ones)."""
        X = X.astype(float)
        return self.constant + X @ self.linear + 0.5 * np.einsum("ti,ti->t", X @ self.pair, X)

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return f(T)/lengths for every row of X."""
        return self.values(X) / self.lengths[X.sum(axis=1)]

    def descend(self, X: np.ndarray, max_sweeps: int = 50) -> np.ndarray:
        """Return local minima of f from the rows of X (N x n bool), by best swaps at fixed size."""
        X = X.copy()
        rows = np.arange(len(X))
        for _ in range(max_sweeps):
            field = self.linear + X[rows] @ self.pair
            leave = np.where(X[rows], field, -np.inf)
            enter = np.where(X[rows], np.inf, field)
            gain = leave[:, :, None] - enter[:, None, :] + self.pair
            best = gain.reshape(len(rows), -1).argmax(axis=1)
            i, j = np.divmod(best, X.shape[1])
            useful = gain.reshape(len(rows), -1)[np.arange(len(rows)), best] > 0
            rows, i, j = rows[useful], i[useful], j[useful]
            if not len(rows):
                break
            X[rows, i], X[rows, j] = False, True
        return X
