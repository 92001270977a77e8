"""Unary encoding: one noisy bit for every value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from stratagem.io.screen import brief
from stratagem.math.number import integer, real
from stratagem.strategies.bits import all_sets, bernoulli, check_packed, column_sums, put
from stratagem.strategies.strategy import MatrixStrategy, check_counts, check_values, written_out
from stratagem.strategies.support_oracle import Pairs, SupportOracle, independent
from stratagem.strategies.two_level import DENSE

LARGEST = 1 << 24
"""Largest number of user types."""
BLOCK = 1 << 12
"""Reports that are drawn together."""


@final
@dataclass(frozen=True)
class UnaryEncoding(SupportOracle):
    """Send n bits: the own value's is one with probability p, every other with q, independently.

    Guarantee:
        epsilon = log(p (1 - q)/(q (1 - p))): two types differ in two bits, and the worst report has the
        first type's and lacks the second's. A single value always sends the same distribution: epsilon is 0.

    Raises:
        ValueError: unless n is a whole number and 0 < q < p < 1.

    Reference:
        Wang, Blocki, Li, Jha, USENIX Security 2017; Erlingsson, Pihur, Korolova, CCS 2014.

    Example:
        >>> round(UnaryEncoding(8, 0.75, 0.25).epsilon, 6)  # log 9
        2.197225
    """

    __repr__ = brief

    n: int
    """Number n of user types."""
    p: float
    q: float

    def __post_init__(self) -> None:
        """Check the numbers."""
        n = integer(self.n, "The number of values", 1, LARGEST, "name the size of the domain")
        object.__setattr__(self, "n", n)
        if not 0 < real(self.q) < real(self.p) < 1:
            raise ValueError(
                f"a bit is one with probabilities p = {self.p!r} and q = {self.q!r}: give 0 < q < p < 1"
            )

    @property
    def epsilon(self) -> float:
        if self.n == 1:
            return 0.0
        return math.log(self.p / (1 - self.p)) - math.log(self.q / (1 - self.q))

    @property
    def report(self) -> str:
        return f"{self.n} bits"

    @property
    def other(self) -> float:
        return self.q

    @property
    def mass(self) -> float:
        return (1 - self.p) / (1 - self.q)

    @property
    def pairs(self) -> Pairs:
        return independent(self.n, self.p, self.q)

    def randomise(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw reports, bit-packed as by `numpy.packbits` (N x ceil(n/8))."""
        values = check_values(values, self.n)
        packed = np.empty((len(values), -(-self.n // 8)), dtype=np.uint8)
        for first in range(0, len(values), BLOCK):
            block = slice(first, min(first + BLOCK, len(values)))
            packed[block] = bernoulli(block.stop - first, self.n, self.q, rng)
        put(packed, values, rng.random(len(values)) < self.p)
        return packed

    def supports(self, reports: np.ndarray) -> np.ndarray:
        return column_sums(check_packed(reports, self.n), self.n)

    def histogram(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        x = check_counts(x, self.n)
        total = x.sum()
        ones = rng.binomial(x, self.p) + rng.binomial(total - x, self.q)
        return np.concatenate([[total], ones])

    def dense(self) -> MatrixStrategy:
        n, p, q = self.n, self.p, self.q
        if n > 30 or n << n > DENSE:
            raise ValueError(f"a unary encoding of {n} values has 2^{n} reports, too many for a matrix")
        bits = all_sets(n)
        ones = bits.sum(axis=1)[:, None]
        silent = q ** (ones - bits) * (1 - q) ** (n - 1 - (ones - bits))
        return written_out(silent * np.where(bits, p, 1 - p))
