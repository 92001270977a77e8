"""The slack of a dual certificate at a pattern: a quadratic form in the pattern's indicator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Slack:
    """f(T) = (lambda^T s)(1^T s) - s^T G s for s = 1 + c 1_T, c = E - 1, as a sum over elements and pairs.

    f(T) = constant + sum_{i in T} linear_i + sum_{i<j in T} pair_ij. The pair (G, lambda) certifies
    L >= 2 tr (V^(1/2) G V^(1/2))^(1/2) - 1^T lambda exactly when f(T) >= 0 for all 2^n patterns.
    """

    constant: float
    linear: np.ndarray
    """(n,)"""
    pair: np.ndarray
    """(n, n), symmetric, zero on the diagonal."""
    rounding: float
    """Bound on the rounding error of f(T) as evaluated in float64, for any T."""

    @classmethod
    def of(cls, G: np.ndarray, multiplier: np.ndarray, E: float) -> Slack:
        """Expand f for G (n x n, symmetric) and lambda (n,)."""
        n, c, lam = len(multiplier), E - 1, multiplier
        total, G1 = lam.sum(), G.sum(axis=1)
        linear = c * (total + n * lam - 2 * G1) + c**2 * (lam - np.diag(G))
        pair = c**2 * (lam[:, None] + lam - 2 * G)
        np.fill_diagonal(pair, 0.0)
        # every term of f is below scale in absolute value; sums of n^2 terms lose n^2 ulp at the very worst
        scale = E**2 * (n * np.abs(lam).sum() + np.abs(G).sum())
        return cls(n * total - G1.sum(), linear, pair, 4 * n * np.finfo(float).eps * scale)

    def values(self, X: np.ndarray) -> np.ndarray:
        """Return f for every row of X (N x n, zeros and ones)."""
        X = X.astype(float)
        return self.constant + X @ self.linear + 0.5 * np.einsum("ti,ti->t", X @ self.pair, X)

    def descend(self, X: np.ndarray, max_sweeps: int = 50) -> np.ndarray:
        """Return local minima of f from the rows of X (N x n bool): best swap at fixed size, until none helps."""
        X = X.copy()
        rows = np.arange(len(X))
        for _ in range(max_sweeps):
            field = self.linear + X[rows] @ self.pair
            leave = np.where(X[rows], field, -np.inf)
            enter = np.where(X[rows], np.inf, field)
            gain = leave[:, :, None] - enter[:, None, :] + self.pair
            best = gain.reshape(len(rows), -1).argmax(axis=1)
            i, j = np.divmod(best, X.shape[1])
            useful = gain.reshape(len(rows), -1)[np.arange(len(rows)), best] > self.rounding
            rows, i, j = rows[useful], i[useful], j[useful]
            if not len(rows):
                break
            X[rows, i], X[rows, j] = False, True
        return X
