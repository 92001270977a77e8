"""A design on the host: patterns with their probabilities, and its way into and out of compiled code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from stratagem.solvers.pricing import Prices, search
from stratagem.solvers.weights import Weights, improve, inform
from stratagem.strategies.two_level import TwoLevelStrategy, pack

Precision = Literal["float64", "float32"]
LEAST = 512
"""Rows below which padding costs nothing."""
CHUNK = 1 << 24
"""Entries of pattern batches that one call of the local search works on."""


@dataclass(frozen=True, eq=False)
class Design:
    """Patterns and probabilities of a two-level strategy, with the multipliers of its balance."""

    patterns: np.ndarray
    """Sets T (m x n), boolean, distinct."""
    p: np.ndarray
    """Probability of each report under the prior (m,): p = theta (1 + c f), f = prior(T), c = E - 1."""
    mu: float
    nu: np.ndarray
    """Multipliers (n,) of sum p x = 0."""
    value: float
    """tr(C^-1 V_c), C = M - 11^T/n, for the V_c of the arithmetic."""


@dataclass(frozen=True, eq=False)
class Arithmetic:
    """The numbers of a problem that every product needs."""

    F: np.ndarray
    """V_c = F F^T (n x r)."""
    c: float
    """E - 1."""
    precision: Precision
    """Arithmetic of the products with all rows; n x n matrices are always float64."""
    prior: np.ndarray
    """Probabilities of the user types (n,); 1/n in the average case."""

    @property
    def n(self) -> int:
        """Number of user types."""
        return len(self.F)

    def rows(self, patterns: np.ndarray, padded: int) -> jax.Array:
        """Return x_s = c (b - f)/(1 + c f), f = prior(T) (padded x n), zero below the patterns."""
        f = masses(patterns, self.prior)[:, None]
        scale = (self.c / (1 + self.c * f)).astype(self.precision)
        X = np.zeros((padded, self.n), dtype=self.precision)
        np.subtract(patterns, f.astype(self.precision), out=X[: len(patterns)])
        X[: len(patterns)] *= scale
        return jnp.asarray(X)

    def improved(self, patterns: np.ndarray, p: np.ndarray, near: Design | None, steps: int) -> Design:
        """Return the design after `steps` weight updates from any positive p (m,), balanced or not."""
        m = len(patterns)
        padded = padding(m)
        with double():
            X, F = self.rows(patterns, padded), jnp.asarray(self.F)
            weight = jnp.asarray(np.pad(p / p.sum(), (0, padded - m)))
            mu, nu = (1.0, np.zeros(self.n)) if near is None else (near.mu, near.nu)
            start = Weights(
                weight, weight, jnp.asarray(np.inf), jnp.asarray(mu), jnp.asarray(nu), jnp.asarray(0)
            )
            found = improve(X, F, start, steps)
            value = float(inform(X, found.p, F).value)
            return Design(patterns, np.asarray(found.p)[:m], float(found.mu), np.asarray(found.nu), value)

    def priced(self, design: Design, starts: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
        """Return patterns found uphill from `starts` (k x n) and their scores relative to mu (k,)."""
        m = len(design.patterns)
        batch = max(1, CHUNK // self.n)
        found, worth = [], []
        with double():
            X = self.rows(design.patterns, padding(m))
            p = jnp.asarray(np.pad(design.p, (0, len(X) - m)))
            root = inform(X, p, jnp.asarray(self.F)).root
            nu = design.nu - design.nu.sum() * self.prior
            numbers = (root @ root.T, design.mu, nu, self.c, self.prior)
            prices = Prices(*(jnp.asarray(number, dtype=self.precision) for number in numbers))
            for first in range(0, len(starts), batch):
                B = jnp.asarray(starts[first : first + batch], dtype=self.precision)
                patterns, scores = search(B, prices, steps)
                found.append(np.asarray(patterns) > 0.5)
                worth.append(np.asarray(scores, dtype=float) / design.mu)
        return np.concatenate(found), np.concatenate(worth)


def padding(m: int) -> int:
    """Return the number of rows that compiled code sees: few different sizes, since each is compiled anew."""
    return max(LEAST, 1 << (m - 1).bit_length())


@contextmanager
def double() -> Iterator[None]:
    """Allow 64-bit arithmetic in this block alone; never let a GPU round products to fewer bits."""
    with jax.enable_x64(True), jax.default_matmul_precision("highest"):
        yield


def masses(patterns: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Return prior(T) of every pattern (m,), a block at a time."""
    step = max(1, CHUNK // len(prior))
    return np.concatenate([patterns[y : y + step] @ prior for y in range(0, len(patterns), step)])


def exact(design: Design, E: float, prior: np.ndarray) -> TwoLevelStrategy:
    """Return the strategy of a design, its weights moved by rounding errors until the columns sum to one.

    theta <- theta (1 + S z) with S^T diag(theta) S z = 1 - S^T theta: the smallest relative change.

    Raises:
        ArithmeticError: if the patterns cannot be balanced.
    """
    n, c = design.patterns.shape[1], E - 1
    kept = design.p > 0
    patterns = design.patterns[kept]
    theta = design.p[kept] / (1 + c * masses(patterns, prior))
    S = np.where(patterns, E, 1.0)
    for _ in range(12):
        residual = 1 - S.T @ theta
        if np.abs(residual).max() < 2e-14:
            break
        z = np.linalg.lstsq((S.T * theta) @ S, residual, rcond=1e-14)[0]
        theta = theta * np.maximum(1 + S @ z, 0.1)
    if np.abs(1 - S.T @ theta).max() > 5e-13:
        raise ArithmeticError("These patterns have no weights with which every column sums to one.")
    return TwoLevelStrategy(pack(patterns), theta, n, E)
