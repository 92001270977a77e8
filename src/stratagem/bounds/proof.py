"""A lower bound on L(Q) that travels: the few arrays from which anybody can compute it again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stratagem.bounds.allowance import ULP, root_trace, safe
from stratagem.bounds.masses import Boxes, Terms, largest, within
from stratagem.bounds.patterns import AllPatterns, listed_patterns, listed_size
from stratagem.prior import uniform

TINY = 1e-30
"""Least gamma, relative to the largest, by whose root rows are divided."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Proof:
    """Weights gamma and w, a matrix N >= 0 and prices lambda: together a lower bound on L(Q) of every strategy.

    For a prior p and h = n p, which M h = 1 makes 1 in the average case, let c = E - 1. Any pattern T with indicator
    x and f = p^T x is the row s = 1 + c x, with a = h^T s = n (1 + c f). On h^perp the matrix
    G = diag(gamma) - N - w w^T must be positive semidefinite. As x_i^2 = x_i, x^T N x >= 0 and
    (w^T x)^2 >= 2 r w^T x - r^2 for any r, here r = r_0 + r_1 f,

        s^T A^T G A s/c^2 <= q(f, x) = (gamma - 2 r w - 2 f G 1)^T x + r^2 + f^2 1^T G 1,   A = I - 1 p^T.

    N = 0, w proportional to gamma and a certain r are the weighted bound. If delta is at least
    [c^2 q(f, x) - a lambda^T s]/a^2 for every pattern, then tr(G Y) <= D for Y = A M A^T of every strategy,
    D = 1^T lambda + n delta, and Cauchy-Schwarz for the nuclear norm gives

        L(Q) >= h^T V h/n + S^2/D,   S = tr (F^T G F)^(1/2),   F F^T = A V A^T.

    Small patterns are listed (see `patterns.listed_size`): delta holds their s^T A^T G A s itself. Where all of them
    are listed, N may have any sign.

    Every choice of the arrays is a valid bound; how they were found does not matter.
    """

    gamma: np.ndarray
    """Weights of the user types (n,)."""
    avoided: np.ndarray
    """N (n x n), symmetric, zero on its diagonal: what small patterns pay for two types together."""
    spread: np.ndarray
    """w (n,): what patterns pay whose weight w^T x is not near r."""
    level: tuple[float, float]
    """(r_0, r_1)."""
    prices: np.ndarray
    """lambda (n,)."""
    factor: np.ndarray
    """F (n x r)."""
    total: float
    """h^T V h/n."""
    epsilon: float
    prior: np.ndarray | None = None
    """p (n,); None for 1/n."""
    ulps: float = 0.0
    """Relative error of F F^T (see `allowance.ulps`)."""

    @cached_property
    def value(self) -> float:
        """The bound, from below after every rounding; no less than h^T V h/n, zero at the least.

        Each eigenvalue of a product has an error of at most n ulp of the sum of absolute values in it, which the
        Frobenius norms bound; F F^T has one of `ulps`. Sums of 2 n terms lose at most 2 n ulp of their absolute values.
        """
        gamma = self.definite()
        G, size = self.matrix(gamma), float(np.square(self.factor).sum())
        norm = float(np.linalg.norm(self._absolute(gamma)))
        error = (self.ulps + 8 * len(gamma) * ULP) * norm * size
        S = root_trace(np.linalg.eigvalsh(self.factor.T @ G @ self.factor), error)
        n, total = len(gamma), float(self.prices.sum())
        D = total + n * self._excess(gamma) + 2 * n * ULP * float(np.abs(self.prices).sum())
        return safe(self.total + (S * S / D if D > 0 and math.isfinite(D) else 0.0), self.epsilon)

    def matrix(self, gamma: np.ndarray) -> np.ndarray:
        """Return G (n x n) for some gamma."""
        return np.diag(gamma) - self.avoided - np.outer(self.spread, self.spread)

    def _absolute(self, gamma: np.ndarray) -> np.ndarray:
        """Return the sums (n x n) of the absolute values of the terms of G, which its rounding is relative to."""
        return np.diag(np.abs(gamma)) + np.abs(self.avoided) + np.abs(np.outer(self.spread, self.spread))

    def definite(self) -> np.ndarray:
        """Return gamma (n,), raised until G is positive semidefinite on h^perp in spite of rounding.

        Rows and columns are divided by gamma^(1/2) first, as types that a prior hardly knows have a tiny gamma. An
        eigenvalue is off by 16 n ulp of the norm of the sums of absolute values.
        """
        n, G = len(self.gamma), self.matrix(self.gamma)
        diagonal = np.abs(self.gamma)
        diagonal = np.maximum(diagonal, TINY * (float(diagonal.max()) or 1.0))
        scale = 1 / np.sqrt(diagonal)
        direction = scale if self.prior is None else scale * self.prior
        direction = direction / np.linalg.norm(direction)
        seen, size = (np.outer(scale, scale) * matrix for matrix in (G, self._absolute(self.gamma)))
        seen = seen - np.outer(seen @ direction, direction)
        seen = seen - np.outer(direction, direction @ seen)
        least = float(np.linalg.eigvalsh((seen + seen.T) / 2)[0]) - 16 * n * ULP * float(np.linalg.norm(size))
        return self.gamma + max(0.0, -least) * diagonal

    def _excess(self, gamma: np.ndarray) -> float:
        """Return delta for all patterns, an allowance of 8 n ulp of its terms included."""
        n = len(gamma)
        size = listed_size(n)
        if size == n:
            return float(self.excess_of_all(gamma).max())
        found = max(float(self.excess(X, gamma).max()) for X in listed_patterns(n, size))
        return max(found, self._unlisted_excess(gamma, size))

    def excess(self, X: np.ndarray, gamma: np.ndarray) -> np.ndarray:
        """Return [c^2 q - a lambda^T s]/a^2 of patterns X (N x n), an allowance of 8 n ulp of its terms included."""
        n, c = len(gamma), math.expm1(self.epsilon)
        G = self.matrix(gamma)
        f = X @ (uniform(n) if self.prior is None else self.prior)
        Y, a = X - f[:, None], n * (1 + c * f)
        total = float(self.prices.sum())
        found = c**2 * ((Y @ G) * Y).sum(axis=1) - a * (total + c * (X @ self.prices))
        upper, absolute = X + f[:, None], np.abs(self.prices)
        size = c**2 * ((upper @ self._absolute(gamma)) * upper).sum(axis=1) + a * (
            absolute.sum() + c * (X @ absolute)
        )
        return (found + 8 * n * ULP * size) / a**2

    def excess_of_all(self, gamma: np.ndarray) -> np.ndarray:
        """Return the same of all patterns (2^n,), in the order of `AllPatterns`; the form in A is expanded."""
        n, c, every = len(gamma), math.expm1(self.epsilon), AllPatterns(len(gamma))
        f = every.linear(uniform(n) if self.prior is None else self.prior)
        G, absolute, prices = self.matrix(gamma), self._absolute(gamma), np.abs(self.prices)
        a = n * (1 + c * f)
        with np.errstate(over="ignore", invalid="ignore"):
            found = every.quadratic(G) - 2 * f * every.linear(G.sum(axis=1)) + f**2 * float(G.sum())
            found = c**2 * found - a * (float(self.prices.sum()) + c * every.linear(self.prices))
            size = every.quadratic(absolute) + 2 * f * every.linear(absolute.sum(axis=1))
            size = c**2 * (size + f**2 * float(absolute.sum()))
            size += a * (float(prices.sum()) + c * every.linear(prices))
            excess = (found + 8 * n * ULP * size) / a**2
        return np.where(np.isnan(excess), np.inf, excess)  # beyond float64 nothing is proved

    def _unlisted_excess(self, gamma: np.ndarray, listed: int) -> float:
        """Return delta for larger patterns, by size and mass under a prior; infinite where N has a negative entry."""
        if (self.avoided < 0).any():
            return math.inf
        n, c = len(gamma), math.expm1(self.epsilon)
        if self.prior is None:
            sizes = np.arange(listed + 1, n + 1)
            linear, constant, _ = self._terms(gamma, sizes / n)
            sums = np.cumsum(-np.sort(-linear, axis=1), axis=1)
            best = sums[np.arange(len(sizes)), sizes - 1]
            return float(((constant + best) / (n + c * sizes) ** 2).max())
        return largest(lambda f: self._terms(gamma, f), self.prior, c, listed)

    def _terms(self, gamma: np.ndarray, f: np.ndarray) -> Terms:
        """Return q c^2 - a lambda^T s = linear x + constant at masses f (K,).

        The constant includes an allowance of 8 n ulp of all terms.
        """
        n, c, w = len(gamma), math.expm1(self.epsilon), self.spread
        sums = gamma - self.avoided.sum(axis=1) - w * w.sum()
        a, (first, second) = n * (1 + c * f), self.level
        r = first + second * f
        linear = c**2 * (gamma - np.outer(2 * r, w) - np.outer(2 * f, sums)) - c * np.outer(a, self.prices)
        square = c**2 * (float(sums.sum()) + second**2)
        constant = c**2 * (r**2 + f**2 * float(sums.sum())) - a * float(self.prices.sum())
        size = np.abs(gamma) + self.avoided.sum(axis=1) + np.abs(w) * np.abs(w).sum()
        terms = np.abs(linear).sum(axis=1) + np.abs(constant)
        terms += c**2 * (float(size.sum()) + r**2 + 2 * np.abs(r) * np.abs(w).sum())
        return Terms(linear, constant + 8 * n * ULP * terms, square)

    def heaviest(self, sizes: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return about the delta of patterns of some sizes and masses (K,), and their multipliers t, under a prior."""
        assert self.prior is not None
        c, boxes = math.expm1(self.epsilon), Boxes(sizes, sizes, f, f)
        found, _, t = within(lambda f: self._terms(self.gamma, f), self.prior, c, boxes, -math.inf)
        return found, t
