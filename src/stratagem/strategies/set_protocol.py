"""Reports that are sets of values: one noisy bit for every value, or a random set of fixed size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import final

import numpy as np

from stratagem.io.screen import brief
from stratagem.math.number import count_text, integer, real
from stratagem.math.privacy import probability, ratio
from stratagem.strategies.linear_protocol import Pairs, SupportOracle, independent
from stratagem.strategies.strategy import MatrixStrategy, check_counts, check_values, written_out
from stratagem.strategies.two_level import DENSE, all_sets, bernoulli, check_packed, column_sums, put, resize

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


SETS_AT_ONCE = 1 << 13
"""Reports that are drawn together."""


@final
@dataclass(frozen=True)
class SubsetSelection(SupportOracle):
    """Report a set of k values that holds the own one with probability p, else uniformly random.

    q = (k - p)/(n - 1); k - 1 or k of the n - 1 other values are in the set, so of two others the first alone
    is with probability (p (k - 1)(n - k) + (1 - p) k (n - 1 - k))/((n - 1)(n - 2)).

    Guarantee:
        epsilon = log(p (n - k)/((1 - p) k)), the ratio of the two probabilities that a set can have.

    Raises:
        ValueError: unless n >= 2 and 1 <= k < n are whole numbers and k/n < p < 1.

    Reference:
        Ye, Barg, IEEE Trans. Inf. Theory 2018; Wang et al. 2016 (k-subset mechanism).

    Example:
        >>> round(SubsetSelection(4, 1, 0.5).epsilon, 6)  # randomised response, log 3
        1.098612
    """

    __repr__ = brief

    n: int
    """Number n of user types."""
    k: int
    """Number k of values in a report."""
    p: float
    """Probability p that a report holds the own value."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        n = integer(self.n, "The number of values", 2, LARGEST, "name the size of the domain")
        k = integer(self.k, "The subset size k", 1, n - 1, "the best is near n/(e^epsilon + 1)")
        if not k / n < real(self.p) < 1:
            raise ValueError(f"the own value is in the set with probability {self.p!r}: give k/n < p < 1")
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "k", k)

    @staticmethod
    def best(values: int, epsilon: float) -> SubsetSelection:
        """Return the oracle over n = `values` values with the largest `eigenvalue`: k is near n/(1 + E)."""
        E = ratio(epsilon)
        near = {min(max(1, math.floor(values / (1 + E)) + more), values - 1) for more in (0, 1)}
        made = [SubsetSelection(values, k, probability(E * k / (values - k))) for k in near]
        return max(made, key=lambda oracle: oracle.eigenvalue)

    @property
    def eigenvalue(self) -> float:
        """Eigenvalue c^2 k (n - k)/((n + c k)^2 (n - 1)) of Q^T D^-1 Q on vectors of sum zero, c = E - 1."""
        n, k, c = self.n, self.k, math.expm1(self.epsilon)
        return c**2 * k * (n - k) / ((n + c * k) ** 2 * (n - 1))

    @property
    def epsilon(self) -> float:
        return math.log(self.p / (1 - self.p)) + math.log((self.n - self.k) / self.k)

    @property
    def report(self) -> str:
        return f"{self.k} of {self.n} values"

    @property
    def other(self) -> float:
        """Probability q = (k - p)/(n - 1) that a report supports a given other value."""
        return (self.k - self.p) / (self.n - 1)

    @property
    def mass(self) -> float:
        return self.n * (1 - self.p) / (self.n - self.k)

    @property
    def pairs(self) -> Pairs:
        """Joint support of two values by a set of fixed size k.

        With n = 2 no two values differ from u, so that `apart` and `gain` are arbitrary.
        """
        n, k, p = self.n, self.k, self.p
        others = max(1, n - 2)
        apart = (p * (k - 1) * (n - k) + (1 - p) * k * (others - k + 1)) / ((n - 1) * others)
        return Pairs(apart, (k - 1) / others, 0.0, 0.0)

    def randomise(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw reports, bit-packed as by `numpy.packbits` (N x ceil(n/8)).

        Independent bits are a uniformly random set of random size; random values added or taken away until
        its size is right leave it uniformly random.
        """
        values = check_values(values, self.n)
        blocks = range(0, len(values), SETS_AT_ONCE)
        drawn = [self._draw(values[first : first + SETS_AT_ONCE], rng) for first in blocks]
        return np.concatenate(drawn) if drawn else np.zeros((0, -(-self.n // 8)), dtype=np.uint8)

    def supports(self, reports: np.ndarray) -> np.ndarray:
        packed = check_packed(reports, self.n)
        if (np.bitwise_count(packed).sum(axis=1, dtype=np.int64) != self.k).any():
            raise ValueError(f"a report does not hold {self.k} values, as all reports do")
        return column_sums(packed, self.n)

    def histogram(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        x = check_counts(x, self.n)
        values = np.repeat(np.arange(self.n), x)
        totals = np.zeros(self.n + 1, dtype=np.int64)
        for first in range(0, len(values), SETS_AT_ONCE):
            totals += self.collect(self._draw(values[first : first + SETS_AT_ONCE], rng))
        return totals

    def dense(self) -> MatrixStrategy:
        n, k = self.n, self.k
        if math.comb(n, k) * n > DENSE:
            raise ValueError(
                f"there are {count_text(math.comb(n, k))} sets of {k} of {n} values, too many for a matrix"
            )
        inside, outside = self.p / math.comb(n - 1, k - 1), (1 - self.p) / math.comb(n - 1, k)
        return MatrixStrategy(np.where(all_subsets(n, k), inside, outside))

    def _draw(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the reports of a block of users."""
        share = self.k / self.n
        if share < 1 / 8:  # surplus ones are slow to find at random, so draw fewer than k and add the rest
            share = max(0.0, self.k - 3 * math.sqrt(self.k)) / self.n
        packed = bernoulli(len(values), self.n, share, rng)
        put(packed, values, rng.random(len(values)) < self.p)
        resize(packed, values, self.k, self.n, rng)
        return packed


def all_subsets(n: int, k: int) -> np.ndarray:
    """Return the members of all sets of k values, as a boolean matrix (C(n, k) x n), in lexicographic order."""
    chosen = np.array(list(combinations(range(n), k)))
    members = np.zeros((len(chosen), n), dtype=bool)
    np.put_along_axis(members, chosen, True, axis=1)
    return members
