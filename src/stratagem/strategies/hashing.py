"""Reports on hashes of the value: noisy Bloom filters in cohorts, and local hashing, which reports a single hash."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn, final

import numpy as np

from stratagem.io.screen import brief
from stratagem.math.linalg import PseudoInverse, pseudo_inverse
from stratagem.math.number import integer, real
from stratagem.strategies.linear_protocol import (
    LinearProtocol,
    Pairs,
    SupportOracle,
    independent,
    numbered,
    split_numbers,
)
from stratagem.strategies.strategy import check_counts, check_values
from stratagem.strategies.two_level import bernoulli, check_packed, column_sums


@final
@dataclass(frozen=True, eq=False)
class BloomFilters(LinearProtocol):
    """Draw one of C cohorts, send the cohort's Bloom filter of the value, every bit noisy.

    A bit that the filter sets is reported as one with probability p, any other with q < p. Given the cohort,
    (y - q)/(p - q) has the filter f_c(u) as its mean; the estimate is the ordinary least squares of the
    cohorts' sums, C times each, on all filters: s = R_c (y - q)/(p - q), R_c = C H^+ F_c, F_c (n x b) the
    cohort's filters and H = sum_c F_c F_c^T. It is unbiased where the filters are linearly independent.
    Totals are the number of reports, then for every cohort its reports and the sums of its bits.

    Guarantee:
        epsilon = max over c, u, v of |f_c(u) - f_c(v)| log(p/q) + |f_c(v) - f_c(u)| log((1 - q)/(1 - p)), as
        differences of sets: measured from the filters that occur, at most that of 2 h bits for h hashes.

    Raises:
        ValueError: unless filters are a boolean array C x n x b and 0 < q < p < 1.

    Reference:
        Erlingsson, Pihur, Korolova, CCS 2014 (RAPPOR).
    """

    __repr__ = brief

    filters: np.ndarray
    """Bloom filters f_c(u) of all user types u in all cohorts c, boolean, shape (C, n, b)."""
    p: float
    q: float

    def __post_init__(self) -> None:
        """Check and freeze the filters."""
        filters = np.array(self.filters)
        if filters.dtype != bool or filters.ndim != 3 or 0 in filters.shape:
            raise ValueError(
                f"bloom filters are booleans, cohorts x values x bits; these have shape {filters.shape} "
                f"and type {filters.dtype}"
            )
        if not 0 < self.q < self.p < 1:
            raise ValueError(
                f"a bit is one with probabilities p = {self.p!r} and q = {self.q!r}: give 0 < q < p < 1"
            )
        filters.flags.writeable = False
        object.__setattr__(self, "filters", filters)

    @property
    def domain_size(self) -> int:
        return self.filters.shape[1]

    @property
    def cohorts(self) -> int:
        """Number C of cohorts."""
        return self.filters.shape[0]

    @property
    def bits(self) -> int:
        """Number b of bits of a filter."""
        return self.filters.shape[2]

    @property
    def epsilon(self) -> float:
        return self._loss

    @cached_property
    def _loss(self) -> float:
        return loss(differences(self.filters), self.p, self.q)

    @property
    def report(self) -> str:
        return f"1 of {self.cohorts} cohorts and {self.bits} bits"

    @property
    def null_space(self) -> np.ndarray:
        return self._inverse.null

    @cached_property
    def _inverse(self) -> PseudoInverse:
        """Pseudo-inverse of H = sum_c F_c F_c^T, n x n."""
        stacked = self._stacked
        return pseudo_inverse(stacked @ stacked.T)

    @property
    def _stacked(self) -> np.ndarray:
        """Filters of all cohorts side by side, shape (n, C b)."""
        return np.concatenate(list(self.filters.astype(float)), axis=1)

    @cached_property
    def _scores(self) -> np.ndarray:
        """Matrices R_c of the scores, one for every cohort, shape (C, n, b)."""
        R = self.cohorts * (self._inverse @ self._stacked)
        return np.stack(np.split(R, self.cohorts, axis=1))

    def _noise(self, filters: np.ndarray) -> np.ndarray:
        """Return the variance of (y - q)/(p - q) for the bits of filters."""
        p, q = self.p, self.q
        return np.where(filters, p * (1 - p), q * (1 - q)) / (p - q) ** 2

    def second_moments(self, B: np.ndarray) -> np.ndarray:
        """Return the mean over cohorts of (R f)^T B (R f) + sum_j v_j (R^T B R)_jj, (n,)."""
        moments = np.zeros(self.domain_size)
        for F, R in zip(self.filters, self._scores, strict=True):
            G = R.T @ (B @ R)
            moments += np.einsum("ui,ij,uj->u", F, G, F, optimize=True) + self._noise(F) @ np.diag(G)
        return moments / self.cohorts

    def spread(self, x: np.ndarray) -> np.ndarray:
        """Return the mean over cohorts of R (sum_u x_u f_u f_u^T + diag(v_u)) R^T, (n x n)."""
        x = np.asarray(x, dtype=float)
        spread = np.zeros((self.domain_size, self.domain_size))
        for F, R in zip(self.filters, self._scores, strict=True):
            inner = (F.T * x) @ F + np.diag(x @ self._noise(F))
            spread += R @ inner @ R.T
        return spread / self.cohorts

    def randomise(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw reports (N, bytes): the cohort in four bytes, then the bits, packed as by `numpy.packbits`."""
        values = check_values(values, self.domain_size)
        drawn = rng.integers(0, self.cohorts, len(values))
        own = np.packbits(self.filters, axis=2)[drawn, values]
        ones = bernoulli(len(values), self.bits, self.p, rng)
        zeros = bernoulli(len(values), self.bits, self.q, rng)
        return numbered(drawn, (own & ones) | (~own & zeros))

    def collect(self, reports: np.ndarray) -> np.ndarray:
        """Return the number of reports, then for every cohort its reports and the sums of its bits, one array (k,).

        Raises:
            ValueError: for reports of another shape or type, or of a cohort that there is not.
        """
        drawn, bits = split_numbers(reports, -(-self.bits // 8), self.cohorts, "cohort")
        packed = check_packed(bits, self.bits)
        totals = [np.array([len(reports)])]
        for cohort in range(self.cohorts):
            mine = packed[drawn == cohort]
            totals += [np.array([len(mine)]), column_sums(mine, self.bits)]
        return np.concatenate(totals)

    def histogram(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the totals (k,): a multinomial of every type over the cohorts, then binomials for every bit."""
        x = check_counts(x, self.domain_size)
        users = rng.multinomial(x, np.full(self.cohorts, 1 / self.cohorts)).T
        totals = [np.array([x.sum()])]
        for F, mine in zip(self.filters, users, strict=True):
            setters = mine @ F
            ones = rng.binomial(setters, self.p) + rng.binomial(mine.sum() - setters, self.q)
            totals += [np.array([mine.sum()]), ones]
        return np.concatenate(totals)

    def reconstruct(self, totals: np.ndarray) -> np.ndarray:
        return np.einsum("cub,cb->u", self._scores, self._sums(totals))

    def nonnegative(self, totals: np.ndarray, candidates: Sequence[int] | None = None) -> np.ndarray:
        """Return nonnegative counts (n,) of candidate values by least squares, biased where candidates are missing.

        Raises:
            ValueError: if a candidate is not a value from 0 to n - 1.

        Reference:
            Fanti, Pihur, Erlingsson, PoPETs 2016, for candidates that are not all values.
        """
        from scipy.optimize import nnls

        chosen = np.arange(self.domain_size) if candidates is None else candidates
        chosen = check_values(np.asarray(chosen), self.domain_size)
        answers = self.cohorts * self._sums(totals).ravel()
        return nnls(self._stacked[chosen].T, answers)[0]

    def dense(self) -> NoReturn:
        raise ValueError(
            f"there are {self.cohorts} x 2^{self.bits} reports; noisy filters have no matrix here"
        )

    def _sums(self, totals: np.ndarray) -> np.ndarray:
        """Return the sums of (y - q)/(p - q) of every cohort and bit, (C x b)."""
        table = np.asarray(totals, dtype=float)[1:].reshape(self.cohorts, 1 + self.bits)
        return (table[:, 1:] - self.q * table[:, :1]) / (self.p - self.q)


def differences(filters: np.ndarray) -> np.ndarray:
    """Return for every cohort and pair (u, v) how many bits only the filter of u sets, (C x n x n)."""
    F = filters.astype(float)
    return F.sum(axis=2)[:, :, None] - F @ F.transpose(0, 2, 1)


def loss(more: np.ndarray, p: float, q: float) -> float:
    """Return the privacy loss of bits that are one with probabilities p and q, for `differences` (C x n x n)."""
    one, zero = math.log(p / q), math.log((1 - q) / (1 - p))
    return max(float((one * block + zero * block.T).max()) for block in more)


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
