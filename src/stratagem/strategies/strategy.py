"""The interfaces of local mechanisms, a strategy by linear maps among them, and the one stored as a matrix."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np

from stratagem.io.screen import brief
from stratagem.math.linalg import (
    CentredInverse,
    PseudoInverse,
    Rows,
    apply_inverse,
    centred_inverse,
    diameter,
)
from stratagem.math.number import numbers
from stratagem.math.privacy import best_guess, uniform
from stratagem.math.shuffling import PrivacyBlanket


class Randomiser(ABC):
    """A local mechanism: a user of type u in 0..n-1 sends one random report.

    Three kinds differ in how they are estimated from: a `Strategy` by linear maps of a matrix Q (m x n), a
    `TranslationStrategy` by characters on domains of any size, a `LinearProtocol` by its published scores.
    """

    translated: Any = None
    """The `TranslationStrategy` itself where its reports are translates of patterns; None for other kinds."""
    two_level: Any = None
    """The `TwoLevelStrategy` itself, whose rows are patterns; None for other kinds."""
    enumerated: Any = None
    """The `Strategy` itself, whose reports are a list; None for other kinds."""
    parted: Any = False
    """Whether a report is about some attributes, drawn at random, and made by a strategy of their own."""
    by_table: Any = False
    """Whether reports are made by strategies of tables alone."""
    even: Any = ""
    """What treats all user types alike, so that no prior is taken, in words; empty for kinds that take one."""

    @property
    @abstractmethod
    def domain_size(self) -> int:
        """Number n of user types."""

    @property
    @abstractmethod
    def outputs(self) -> int | None:
        """Number m of possible reports; None if they are too many to count, or real numbers."""

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """Measured privacy loss: the supremum over reports and pairs of types of the log ratio of likelihoods.

        Guarantee:
            Computed from the probabilities alone; no constructor stores the epsilon that it was asked for.
        """

    @property
    def delta(self) -> float:
        """Delta of (epsilon, delta)-LDP; 0 where epsilon holds for every report."""
        return 0.0

    @property
    def blanket(self) -> PrivacyBlanket:
        """What the central privacy of its shuffled reports depends on.

        Guarantee:
            Measured from the probabilities where the kind of strategy allows it, otherwise that of the least private
            strategy of the same epsilon.

        Raises:
            ValueError: without a finite epsilon that holds for every report.
        """
        if self.delta > 0 or not math.isfinite(self.epsilon):
            raise ValueError(
                "some report of the mechanism has no finite epsilon, so that there is no limit on what one report or "
                "shuffled ones tell: choose a mechanism of pure epsilon-LDP"
            )
        return PrivacyBlanket.worst(self.epsilon)

    @property
    def guess(self) -> float:
        """(1/n) sum_y max_u Q[y, u], the probability that the best guess of a user's type from one report is right.

        All n types are equally likely before (theory.md, section 11). At most E/(n + E - 1), that of randomised
        response, where the kind of strategy does not allow it to be computed.
        """
        E = math.exp(self.epsilon)
        return E / (self.domain_size + E - 1)

    @property
    def report(self) -> str:
        """What one user sends, in a few words."""
        return f"1 of {self.outputs}"

    @abstractmethod
    def dense(self) -> MatrixStrategy:
        """Return the same randomiser as a matrix Q (m x n).

        Raises:
            ValueError: if it has too many reports for one.
        """

    def listed(self) -> Strategy:
        """Return the same randomiser by linear maps over all its reports, `dense` where it has no other."""
        return self.dense()

    @property
    def runnable(self) -> bool:
        """Whether a client can draw its reports from whole numbers."""
        return self.translated is not None or self.enumerated is not None


def check_values(values: np.ndarray, domain_size: int) -> np.ndarray:
    """Return user types as integers."""
    array = np.asarray(values)
    inside = (array >= 0) & (array < domain_size) & (array % 1 == 0)
    if array.ndim != 1 or not inside.all():
        raise ValueError(f"user types must be a list of integers from 0 to {domain_size - 1}")
    return array.astype(np.int64)


def check_counts(x: np.ndarray, domain_size: int) -> np.ndarray:
    """Return a data vector of whole, nonnegative counts as integers."""
    array = np.asarray(x)
    if array.shape != (domain_size,) or (array < 0).any() or (array % 1 != 0).any():
        raise ValueError(
            f"a data vector needs {domain_size} nonnegative whole numbers, one for each user type"
        )
    return array.astype(np.int64)


BLOCK = 1 << 22
"""Entries of a temporary array in simulation."""
PATTERNS = 1200
"""Most rows that the computation of a bound starts from; an interior-point step costs their cube."""
PAIRS = 1 << 35
"""Largest number of reports times pairs of user types, a minute or so, for which all distances are computed."""


class Strategy(Randomiser):
    """A locally private randomiser Q (m x n): Q[y, u] = Pr(report y | user type u), columns sum to one.

    Only linear maps by Q are asked for, so that a strategy may be stored as a matrix, as bits or as a rule.
    D = diag(Q 1) holds the row sums, M = Q^T D^-1 Q the information matrix (McKenna et al., VLDB 2020). With
    a prior p over the user types D = diag(n Q p); without one p = 1/n.
    """

    @final
    @property
    def enumerated(self) -> Self:
        """The strategy itself."""
        return self

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Number m of possible reports."""

    @property
    @abstractmethod
    def row_sums(self) -> np.ndarray:
        """Row sums d = Q 1 (m,)."""

    @final
    def listed(self) -> Strategy:
        return self

    @abstractmethod
    def forward(self, X: np.ndarray) -> np.ndarray:
        """Return Q X for X of shape (n,) or (n, k)."""

    @abstractmethod
    def backward(self, Y: np.ndarray) -> np.ndarray:
        """Return Q^T Y for Y of shape (m,) or (m, k)."""

    @abstractmethod
    def _centred(self, prior: np.ndarray | None) -> tuple[Iterable[np.ndarray], float]:
        """Return blocks (k x n) of the rows (q_y - d_y/n 1)/d_y^(1/2), d = n Q p, of the reports that occur.

        Also the size of the numbers that they are differences of, 0 where these are exact.
        """

    @final
    def centred_information(self, prior: np.ndarray | None = None) -> np.ndarray:
        """Return C = M - 11^T/n = sum_y (q_y - d_y/n 1)(q_y - d_y/n 1)^T / d_y, n x n, with d = n Q p.

        M (n p) = 1 and C p = 0 always hold; C is of order epsilon^2, so it is summed without forming M first.
        """
        C = np.zeros((self.domain_size, self.domain_size))
        for rows in self._centred(prior)[0]:
            C += rows.T @ rows
        return C

    @final
    def inverse_information(self, prior: np.ndarray | None = None) -> CentredInverse | PseudoInverse:
        """Return C^+ (n x n); at most n rows R with R^T R = C hold its small eigenvalues with twice the digits."""

        def rows() -> Rows:
            blocks, size = self._centred(prior)
            return Rows.of(blocks, self.domain_size, size)

        return centred_inverse(self.centred_information(prior), prior, rows)

    @final
    def inverse_row_sums(self, prior: np.ndarray | None = None) -> np.ndarray:
        """Return 1/d (m,), d = n Q p, the row sums Q 1 without a prior; zero where a report never occurs."""
        d = self.row_sums if prior is None else self.domain_size * self.forward(prior)
        return np.divide(1.0, d, out=np.zeros_like(d), where=d > 0)

    @abstractmethod
    def high_sets(self, count: int = PATTERNS) -> np.ndarray:
        """Return the patterns T_y (m, n) bool of the `count` likeliest rows: entries above the mean of the extremes."""

    @property
    @abstractmethod
    def lowest(self) -> np.ndarray:
        """Smallest probability (m,) of every row, up to a factor of all rows: the lower of two-valued ones."""

    @abstractmethod
    def two_valued(self) -> np.ndarray:
        """Return where the rows of a two-valued strategy are high (m x n), boolean."""

    @final
    @property
    def strength(self) -> float:
        """Mean eigenvalue of M on vectors of sum zero, of a strategy whose rows hold two probabilities of ratio E.

        It is tr(M - 11^T/n)/(n - 1), where a row of lower value theta that is high on a share f of the user types
        adds c^2 theta f (1 - f)/(1 + c f), c = E - 1, to the trace.
        """
        if self.domain_size == 1:
            return 0.0
        f = self.two_valued().mean(axis=1)
        c = math.exp(self.epsilon) - 1
        return c * float((self.lowest * f * (1 - f) / (1 / c + f)).sum()) / (self.domain_size - 1)

    @abstractmethod
    def columns(self, types: np.ndarray) -> np.ndarray:
        """Return the probabilities of all reports for some user types (k,), a row a type (k, m)."""

    @final
    def randomise(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw one report for each user type in `values` (N,), integers in 0..n-1. For simulation only."""
        values = check_values(values, self.domain_size)
        reports = np.empty(len(values), dtype=np.int64)
        order = np.argsort(values.astype(np.min_scalar_type(self.domain_size)), kind="stable")  # a radix sort
        ends = np.cumsum(np.bincount(values, minlength=self.domain_size))
        for users in filter(len, np.split(order, ends[:-1])):
            cumulative = np.cumsum(self.columns(values[users[:1]])[0])
            points = rng.random(len(users)) * cumulative[-1]
            reports[users] = np.searchsorted(cumulative, points, side="right")
        return np.minimum(reports, self.outputs - 1)

    @final
    def histogram(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the counts of reports (m,) when x[u] users have type u: a sum of n multinomials."""
        x = check_counts(x, self.domain_size)
        counts = np.zeros(self.outputs, dtype=np.int64)
        occurring, step = np.flatnonzero(x), max(1, BLOCK // self.outputs)
        for first in range(0, len(occurring), step):
            types = occurring[first : first + step]
            P = self.columns(types)
            counts += rng.multinomial(x[types], P / P.sum(axis=1, keepdims=True)).sum(axis=0)
        return counts

    @final
    def information(self) -> np.ndarray:
        """Return the information matrix M = Q^T D^-1 Q, n x n."""
        return self.centred_information() + 1.0 / self.domain_size

    @final
    def reconstruct(self, counts: np.ndarray, prior: np.ndarray | None = None) -> np.ndarray:
        """Return the unbiased estimate M^+ Q^T D^-1 counts of the data vector, (m,) -> (n,).

        Unbiased on the row space of Q whatever the prior (n,), and of least variance where it is right
        (Theorem 3.10 of McKenna et al., VLDB 2020, has p = 1/n).
        """
        scale = self.inverse_row_sums(prior).reshape(-1, *[1] * (counts.ndim - 1))
        shares = uniform(self.domain_size) if prior is None else prior
        return apply_inverse(self.inverse_information(prior), self.backward(scale * counts), shares)


@dataclass(frozen=True, eq=False)
class MatrixStrategy(Strategy):
    """An explicit strategy matrix Q (m x n).

    Raises:
        ValueError: if Q is not a finite, nonnegative 2-D array whose columns sum to one within 1e-9.

    Example:
        >>> import numpy as np
        >>> coin = MatrixStrategy(np.array([[0.75, 0.25], [0.25, 0.75]]))
        >>> round(coin.epsilon, 6)  # log 3
        1.098612
    """

    __repr__ = brief

    matrix: np.ndarray

    def __post_init__(self) -> None:
        """Check and freeze the matrix."""
        Q = numbers(self.matrix)
        if Q.ndim != 2 or 0 in Q.shape:
            raise ValueError(f"a strategy matrix needs reports x user types; this array has shape {Q.shape}")
        if not np.isfinite(Q).all() or (Q < 0).any():
            raise ValueError("a strategy matrix holds probabilities, but an entry is negative or non-finite")
        error = float(np.abs(Q.sum(axis=0) - 1).max())
        if error > 1e-9:
            raise ValueError(
                f"every column of a strategy matrix must sum to one; the worst is off by {error:.1e} "
                "(rows are reports, columns user types)"
            )
        Q.flags.writeable = False
        object.__setattr__(self, "matrix", Q)

    @property
    def domain_size(self) -> int:
        return self.matrix.shape[1]

    @property
    def outputs(self) -> int:
        return self.matrix.shape[0]

    @property
    def epsilon(self) -> float:
        """Measured privacy loss; rows of zeros never occur and are left out."""
        high, low = self.matrix.max(axis=1), self.matrix.min(axis=1)
        occurs = high > 0
        if (low[occurs] == 0).any():
            return math.inf
        return float(np.log(high[occurs] / low[occurs]).max())

    @property
    def blanket(self) -> PrivacyBlanket:
        """As `Randomiser.blanket`; the worst one where there are too many pairs of types to look at."""
        worst = super().blanket
        if self.outputs * self.domain_size**2 > PAIRS or self.domain_size == 1:
            return worst
        error = float(np.abs(self.matrix.sum(axis=0) - 1).max())
        distance = diameter(self.matrix, "cityblock") / 2 + error
        return PrivacyBlanket(worst.ratio, distance, max(0.0, float(self.matrix.min(axis=1).sum()) - error))

    @property
    def guess(self) -> float:
        """As `Randomiser.guess`, exactly."""
        return best_guess(self.matrix)

    @property
    def row_sums(self) -> np.ndarray:
        return self.matrix.sum(axis=1)

    def dense(self) -> MatrixStrategy:
        return self

    def high_sets(self, count: int = PATTERNS) -> np.ndarray:
        Q = self.matrix[np.argsort(-self.row_sums, kind="stable")[:count]]
        return Q > (Q.min(axis=1, keepdims=True) + Q.max(axis=1, keepdims=True)) / 2

    @property
    def lowest(self) -> np.ndarray:
        return self.matrix.min(axis=1)

    def two_valued(self) -> np.ndarray:
        return self.matrix > np.sqrt(self.lowest * self.matrix.max(axis=1))[:, None]

    def forward(self, X: np.ndarray) -> np.ndarray:
        return self.matrix @ X

    def backward(self, Y: np.ndarray) -> np.ndarray:
        return self.matrix.T @ Y

    def _centred(self, prior: np.ndarray | None) -> tuple[Iterable[np.ndarray], float]:
        d = self.row_sums if prior is None else self.domain_size * (self.matrix @ prior)
        Q, d = self.matrix[d > 0], d[d > 0]
        size = math.sqrt(float((np.square(Q).sum(axis=1) / d).sum()))
        return [(Q - d[:, None] / self.domain_size) / np.sqrt(d)[:, None]], size

    def columns(self, types: np.ndarray) -> np.ndarray:
        return self.matrix[:, types].T


def written_out(matrix: np.ndarray) -> MatrixStrategy:
    """Return a matrix (m x n) of positive probabilities as a strategy."""
    least = math.sqrt(np.finfo(float).tiny)
    if matrix.min() < least:
        raise ValueError(
            f"some reports are too improbable for double precision, less than {least:.1g}, so that no matrix "
            "holds them: give a smaller epsilon or fewer values"
        )
    return MatrixStrategy(matrix)
