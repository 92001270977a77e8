"""Designs: patterns with their probabilities, as NumPy arrays, and the calls of compiled code that improve them."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from stratagem.math.precision import Precision, working_in
from stratagem.solvers.certified.pricing import Prices, search
from stratagem.solvers.certified.weights import Weights, improve, inform

LEAST = 512
"""Least number of rows in compiled code; padding to fewer rows would save nothing."""
LARGE = 1 << 21
"""Entries of a padded array above which padding costs more than compiling code for another size."""
CHUNK = 1 << 21
"""Entries of a batch of patterns that one call of the local search works on."""
WORK = 1 << 34
"""Multiplications in products with all rows between two checks of the deadline, about one second."""


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
    """tr(C^-1 V_c), C = M - 11^T/n, for the scaled V_c = F F^T of `Arithmetic`."""


@dataclass(frozen=True, eq=False)
class Arithmetic:
    """The constants of a problem that all computations with designs use."""

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
        """Return the rows x_s = c (b - f)/(1 + c f), f = prior(T), followed by zero rows (padded x n)."""
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

        Updates run in blocks of about one second. The first block always runs; no further block starts after
        the deadline, which is on the clock of `time.perf_counter`.
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
        """Return the patterns (k x n) that a local search reaches from `starts` (k x n), and their scores over mu (k,).

        Once the deadline has passed, the remaining starts are left out.
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
    """Return the number of rows, at least m, to which arrays of n columns are padded.

    Every size is compiled anew, so the sizes are powers of two. Where these would waste much memory, they are
    multiples of an eighth of the power of two below.
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
