"""Local hashing: randomised response on a hash of the value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NoReturn, final

import numpy as np

from stratagem.io.screen import brief
from stratagem.math.number import integer, real
from stratagem.strategies.linear_protocol import Pairs, SupportOracle, independent
from stratagem.strategies.strategy import check_counts, check_values

PRIME = 2**31 - 1
"""Size of the field over which values are hashed."""
MOST = 1 << 16
"""Largest number g of hash values; the probability of each differs from 1/g by less than 2^-31."""
BLOCK = 1 << 14
"""Number of reports processed together, small enough to stay in a processor's cache."""


@final
@dataclass(frozen=True)
class LocalHashing(SupportOracle):
    """Draw a hash function H into g values, report it with H(u), told truly with probability p.

    H(i) is the g-th part of the field into which a + b i + c i^2 modulo 2^31 - 1 falls, for random a, b, c:
    the hashes of three values are uniform and independent (up to 2^-31), which is all that the covariance
    of the estimate depends on. A report (a, b, c, y) supports the values {i : H(i) = y}: q = 1/g.

    Guarantee:
        epsilon = log(p (g - 1)/(1 - p)) whatever the hash functions, which are drawn without looking at u.

    Raises:
        ValueError: unless n and g >= 2 are whole numbers and 1/g < p < 1.

    Reference:
        Wang, Blocki, Li, Jha, USENIX Security 2017 (OLH); Bassily, Smith, STOC 2015 (g = 2).

    Example:
        >>> round(LocalHashing(1000, 4, 0.5).epsilon, 6)  # log 3
        1.098612
    """

    __repr__ = brief

    n: int
    """Number n of user types."""
    g: int
    """Number g of hash values."""
    p: float
    """Probability of the true hash value."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        n = integer(self.n, "The number of values", 1, PRIME, "name the size of the domain")
        g = integer(self.g, "The number of hash values g", 2, MOST, "the best is near e^epsilon + 1")
        if not 1 / g < real(self.p) < 1:
            raise ValueError(f"the hash is told truly with probability {self.p!r}: give 1/g < p < 1")
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "g", g)

    @property
    def epsilon(self) -> float:
        return 0.0 if self.n == 1 else math.log(self.p / (1 - self.p)) + math.log(self.g - 1)

    @property
    def report(self) -> str:
        return f"a hash function and 1 of {self.g}"

    @property
    def other(self) -> float:
        """Probability q = 1/g that a report supports a given other value."""
        return 1 / self.g

    @property
    def mass(self) -> float:
        return self.g * (1 - self.p) / (self.g - 1)

    @property
    def pairs(self) -> Pairs:
        return independent(self.n, self.p, self.other)

    def randomise(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw reports (N x 4), the coefficients a, b, c and the hash value, as 32-bit numbers."""
        values = check_values(values, self.n).astype(np.uint64)
        reports = rng.integers(0, PRIME, (len(values), 4), dtype=np.uint32)
        hashed = self.hashes(reports, values)
        others = hashed + rng.integers(1, self.g, len(values), dtype=np.uint64)
        reports[:, 3] = np.where(rng.random(len(values)) < self.p, hashed, others % self.g)
        return reports

    def hashes(self, reports: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the hash of one value (N,) for the function of each report (N x 4)."""
        a, b, c, _ = reports.astype(np.uint64).T
        field = (a + (b + c * values % PRIME) * values) % PRIME
        return field * np.uint64(self.g) // np.uint64(PRIME)

    def supports(self, reports: np.ndarray) -> np.ndarray:
        """Return how many reports support each value (n,); second differences of a + b i + c i^2 are constant.

        So the field elements of all reports advance from value to value by two additions, each followed by
        min(t, t - 2^31 + 1) in 32-bit arithmetic, where negative numbers are large.
        """
        reports = self._check(reports)
        counts = np.zeros(self.n, dtype=np.int64)
        for first in range(0, len(reports), BLOCK):
            a, b, c, y = np.ascontiguousarray(reports[first : first + BLOCK].T)
            low, width = self._cells(y)
            place, step, twice = a - low, _plus(b, c), _plus(c, c)
            # `place` is the field element less the start of the reported cell, modulo the prime
            np.minimum(place, place + np.uint32(PRIME), out=place)
            spare = np.empty_like(place)
            for value in range(self.n):
                counts[value] += np.count_nonzero(place < width)
                _advance(place, step, spare)
                _advance(step, twice, spare)
        return counts

    def histogram(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        x = check_counts(x, self.n)
        values = np.repeat(np.arange(self.n), x)
        totals = np.zeros(self.n + 1, dtype=np.int64)
        for first in range(0, len(values), 8 * BLOCK):
            totals += self.collect(self.randomise(values[first : first + 8 * BLOCK], rng))
        return totals

    def dense(self) -> NoReturn:
        raise ValueError(
            f"local hashing into {self.g} values has {self.g} x (2^31 - 1)^3 reports, too many for a matrix"
        )

    def _cells(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first field element that hashes to y, and the number of those that do, (N,) each."""
        starts = -(-np.arange(self.g + 1, dtype=np.int64) * PRIME // self.g)
        return starts[y].astype(np.uint32), np.diff(starts)[y].astype(np.uint32)

    def _check(self, reports: np.ndarray) -> np.ndarray:
        """Return the reports (N x 4), after checking that a client can have sent them."""
        reports = np.asarray(reports)
        if reports.dtype != np.uint32 or reports.ndim != 2 or reports.shape[1] != 4:
            raise ValueError(
                "reports of local hashing are rows of four 32-bit numbers; these have shape "
                f"{reports.shape} and type {reports.dtype}"
            )
        if (reports[:, :3] >= PRIME).any() or (reports[:, 3] >= self.g).any():
            raise ValueError(
                f"a report names a coefficient above {PRIME - 1} or a hash value above {self.g - 1}"
            )
        return reports


def _plus(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Return the sums of field elements modulo the prime."""
    total = one + two
    return np.minimum(total, total - np.uint32(PRIME))


def _advance(one: np.ndarray, two: np.ndarray, spare: np.ndarray) -> None:
    """Add the field elements `two` to `one` in place, modulo the prime; `spare` is working memory."""
    np.add(one, two, out=one)
    np.subtract(one, np.uint32(PRIME), out=spare)
    np.minimum(one, spare, out=one)
