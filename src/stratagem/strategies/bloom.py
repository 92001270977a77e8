"""Noisy Bloom filters in cohorts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn, final

import numpy as np

from stratagem.io.screen import brief
from stratagem.math.linalg import PseudoInverse, pseudo_inverse
from stratagem.strategies.linear_protocol import LinearProtocol, numbered, split_numbers
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
