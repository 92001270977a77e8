"""A design on the host: patterns with their probabilities, and its way into and out of compiled code."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from stratagem.numeric.precision import Precision, working_in
from stratagem.solvers.certified.pricing import Prices, search
from stratagem.solvers.certified.weights import Weights, improve, inform

LEAST = 512
"""Rows below which padding costs nothing."""
LARGE = 1 << 21
"""Entries above which padding costs more than compiling."""
CHUNK = 1 << 21
"""Entries of pattern batches that one call of the local search works on."""
WORK = 1 << 34
"""Multiplications of a product with all rows between two looks at the clock, about a second."""


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

    def improved(
        self,
        patterns: np.ndarray,
        p: np.ndarray,
        near: Design | None,
        steps: int,
        deadline: float = math.inf,
    ) -> Design:
        """Return the design after `steps` weight updates from any positive p (m,), balanced or not.

        At least one update is made; at the deadline, on the clock of `time.perf_counter`, the rest is left.
        """
        m = len(patterns)
        padded = padding(m, self.n)
        stride = max(1, WORK // (padded * self.n**2))
        with working_in("float64"):
            X, F = self.rows(patterns, padded), jnp.asarray(self.F)
            weight = jnp.asarray(np.pad(p / p.sum(), (0, padded - m)))
            mu, nu = (1.0, np.zeros(self.n)) if near is None else (near.mu, near.nu)
            found = Weights(
                weight, weight, jnp.asarray(np.inf), jnp.asarray(mu), jnp.asarray(nu), jnp.asarray(0)
            )
            for first in range(0, steps, stride):
                found = jax.block_until_ready(improve(X, F, found, min(stride, steps - first)))
                if time.perf_counter() > deadline:
                    break
            value = float(inform(X, found.p, F).value)
            return Design(patterns, np.asarray(found.p)[:m], float(found.mu), np.asarray(found.nu), value)

    def priced(
        self, design: Design, starts: np.ndarray, steps: int, deadline: float = math.inf
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return patterns found uphill from `starts` (k x n) and their scores relative to mu (k,).

        Starts not reached by the deadline are left out.
        """
        m = len(design.patterns)
        batch = max(1, CHUNK // self.n)
        found, worth = [], []
        with working_in("float64"):
            X = self.rows(design.patterns, padding(m, self.n))
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
                if time.perf_counter() > deadline:
                    break
        return np.concatenate(found), np.concatenate(worth)


def padding(m: int, n: int) -> int:
    """Return the number of rows that compiled code sees: few different sizes, since each is compiled anew.

    Powers of two; where that could waste gigabytes of n columns, their eighths.
    """
    power = max(LEAST, 1 << (m - 1).bit_length())
    part = power // 16 if power * n > LARGE else power
    return -(-m // part) * part


def masses(patterns: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Return prior(T) of every pattern (m,), a block at a time.

    Raises:
        FloatingPointError: if there are no patterns, because all weights left double precision.
    """
    if not len(patterns):
        raise FloatingPointError("no pattern of a design has a weight that double precision can hold")
    step = max(1, CHUNK // len(prior))
    return np.concatenate([patterns[y : y + step] @ prior for y in range(0, len(patterns), step)])
