"""A strategy with two probabilities in each row, stored as bits, and sets of values as packed bits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stratagem.io.screen import brief
from stratagem.math.privacy import uniform
from stratagem.math.shuffling import PrivacyBlanket
from stratagem.strategies.strategy import (
    BLOCK,
    PATTERNS,
    MatrixStrategy,
    Strategy,
)

DENSE = 1 << 27
"""Entries of the largest matrix that `dense` writes out (1 GiB)."""
PAIRED = 1 << 13
"""Largest number of user types of which all pairs are looked at."""
COLUMN_ERROR = 1e-12
"""Largest distance of a column sum from one."""


@dataclass(frozen=True, eq=False)
class TwoLevelStrategy(Strategy):
    """Rows theta_y s_y with s_y in {1, E}^n: Q[y, u] = theta_y (1 + (E - 1) [u in T_y]).

    Some optimal strategy always has this form, because rows that take values in between are sums of such
    rows (theory.md, section 2). Everything works on blocks of rows; memory is m n / 8 bytes and a fixed number of
    temporaries.

    Guarantee:
        Each row holds at most two probabilities, of ratio E, so the measured epsilon is log E exactly.

    Raises:
        ValueError: if shapes disagree, E < 1, a weight is negative or a column does not sum to one.
    """

    __repr__ = brief

    patterns: np.ndarray
    """Sets T_y, bit-packed as by `numpy.packbits` (m x ceil(n/8)), uint8."""
    theta: np.ndarray
    """Weights (m,), nonnegative: the lower probability of each row."""
    size: int
    """Number n of user types."""
    ratio: float
    """E, the ratio of the two probabilities of a row."""

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        patterns, theta = np.array(self.patterns, dtype=np.uint8), np.array(self.theta, dtype=float)
        if theta.ndim != 1 or self.size < 1 or patterns.shape != (len(theta), -(-self.size // 8)):
            raise ValueError(
                f"{len(np.atleast_1d(theta))} weights over {self.size} user types need one row of "
                f"{-(-self.size // 8)} bytes each; the patterns have shape {patterns.shape}"
            )
        if not (self.ratio >= 1 and math.isfinite(self.ratio)):
            raise ValueError(f"the ratio of the two levels is {self.ratio!r}: give exp(epsilon), at least 1")
        if not np.isfinite(theta).all() or (theta < 0).any():
            raise ValueError("weights are probabilities; some are negative or not finite")
        for name, array in (("patterns", patterns), ("theta", theta)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        error = float(np.abs(self.backward(np.ones(len(theta))) - 1).max())
        if error > COLUMN_ERROR:
            raise ValueError(f"every column must sum to one; the worst is off by {error:.1e}")

    @property
    def domain_size(self) -> int:
        return self.size

    @property
    def outputs(self) -> int:
        return len(self.theta)

    @property
    def two_level(self) -> TwoLevelStrategy:
        """The strategy itself."""
        return self

    @property
    def epsilon(self) -> float:
        sizes = self.sizes[self.theta > 0]
        return math.log(self.ratio) if ((sizes > 0) & (sizes < self.size)).any() else 0.0

    @property
    def blanket(self) -> PrivacyBlanket:
        """As `Randomiser.blanket`: beta = (E - 1) max_uv sum_y theta_y [u in T_y, v not], gamma = sum_y theta_y.

        A row whose pattern holds all types is even, and adds E theta_y to gamma. The worst one for very many types.
        """
        if self.size > PAIRED:
            return super().blanket
        together = np.zeros((self.size, self.size))
        for rows, B in self._blocks():
            together += B.T @ (self.theta[rows, None] * B)
        apart = np.diag(together)[:, None] - together
        mass = min(1.0, float(self.theta @ np.where(self.sizes == self.size, self.ratio, 1.0)))
        return PrivacyBlanket(self.ratio, (self.ratio - 1) * float(apart.max()), mass)

    @property
    def guess(self) -> float:
        """As `Randomiser.guess`, exactly: rows of no type are even."""
        return float(self.theta @ np.where(self.sizes > 0, self.ratio, 1.0)) / self.size

    @property
    def sizes(self) -> np.ndarray:
        """Sizes |T_y| (m,)."""
        return np.bitwise_count(self.patterns).sum(axis=1, dtype=np.int64)

    @property
    def row_sums(self) -> np.ndarray:
        return self.theta * (self.size + (self.ratio - 1) * self.sizes)

    def high_sets(self, count: int = PATTERNS) -> np.ndarray:
        return unpack(self.patterns[np.argsort(-self.row_sums, kind="stable")[:count]], self.size)

    @property
    def lowest(self) -> np.ndarray:
        return self.theta

    def two_valued(self) -> np.ndarray:
        return unpack(self.patterns, self.size)

    def forward(self, X: np.ndarray) -> np.ndarray:
        """Return Q X = diag(theta) (1 1^T X + (E - 1) B X), B the 0/1 matrix of the patterns."""
        X = np.asarray(X, dtype=float)
        inside = np.concatenate([B @ X for _, B in self._blocks()])
        return (X.sum(axis=0) + (self.ratio - 1) * inside) * self.theta.reshape(-1, *[1] * (X.ndim - 1))

    def backward(self, Y: np.ndarray) -> np.ndarray:
        """Return Q^T Y = 1 theta^T Y + (E - 1) B^T diag(theta) Y."""
        weighted = np.asarray(Y, dtype=float) * self.theta.reshape(-1, *[1] * (np.ndim(Y) - 1))
        inside = np.zeros((self.size, *weighted.shape[1:]))
        for rows, B in self._blocks():
            inside += B.T @ weighted[rows]
        return weighted.sum(axis=0) + (self.ratio - 1) * inside

    def _centred(self, prior: np.ndarray | None) -> tuple[Iterator[np.ndarray], float]:
        """Return the rows (E - 1) (theta_y/n/(1 + (E - 1) f))^(1/2) (b_y - f), f = p(T_y), whose b_y are exact."""
        c, p = self.ratio - 1, uniform(self.size) if prior is None else prior
        masses = ((rows, B, (B @ p)[:, None]) for rows, B in self._blocks())
        theta = self.theta[:, None] / self.size
        return ((B - mass) * (c * np.sqrt(theta[rows] / (1 + c * mass))) for rows, B, mass in masses), 0.0

    def dense(self) -> MatrixStrategy:
        if self.outputs * self.size > DENSE:
            raise ValueError(
                f"a matrix of {self.outputs} outputs x {self.size} user types is too large: "
                "save it as a mechanism file, *.ldp.json"
            )
        return MatrixStrategy(self.forward(np.eye(self.size)))

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield (rows, 0/1 matrix of those rows as floats)."""
        step = max(1, BLOCK // self.size)
        for first in range(0, self.outputs, step):
            rows = slice(first, min(first + step, self.outputs))
            yield rows, unpack(self.patterns[rows], self.size).astype(float)

    def columns(self, types: np.ndarray) -> np.ndarray:
        """Return the probabilities (len(types) x m) of every report for the given user types."""
        bits = (self.patterns[:, types >> 3] >> (7 - (types & 7)).astype(np.uint8)) & 1
        return (self.theta[:, None] * (1 + (self.ratio - 1) * bits)).T


def mixture(one: TwoLevelStrategy, two: TwoLevelStrategy, share: float) -> TwoLevelStrategy:
    """Return the strategy that uses `two` with probability `share`, else `one`; equal patterns are merged."""
    rows = np.concatenate([one.patterns, two.patterns])
    patterns, place = np.unique(rows, axis=0, return_inverse=True)
    theta = np.concatenate([(1 - share) * one.theta, share * two.theta])
    return TwoLevelStrategy(patterns, np.bincount(place.ravel(), theta), one.size, one.ratio)


def pack(B: np.ndarray) -> np.ndarray:
    """Return the rows of a boolean matrix (m x n) as bits (m x ceil(n/8))."""
    return np.packbits(B, axis=1)


def unpack(patterns: np.ndarray, n: int) -> np.ndarray:
    """Return bit-packed rows as a boolean matrix (m x n)."""
    return np.unpackbits(patterns, axis=1, count=n).astype(bool)


SAME = 1e-13
"""Relative distance below which two probabilities are the same up to rounding."""


def two_levels(strategy: MatrixStrategy) -> Strategy:
    """Return a two-level strategy where every row has two values of one ratio, else the matrix as it is.

    The ratio E is the least of the rows', so that the patterns hold no larger epsilon than the matrix; rows
    of one value get no pattern. A 32-bit matrix takes 32 times the memory of its patterns.

    Example:
        >>> import stratagem as st
        >>> type(two_levels(st.published.randomised_response(4, 1.0))).__name__
        'TwoLevelStrategy'
    """
    Q = strategy.matrix
    low, high = Q.min(axis=1), Q.max(axis=1)
    if (low[high > 0] == 0).any():
        return strategy
    varied = high > low * (1 + SAME)
    E = float((high[varied] / low[varied]).min(initial=np.inf)) if varied.any() else 1.0
    patterns = varied[:, None] & (Q > np.sqrt(low * high)[:, None])
    expected = np.where(patterns, E * low[:, None], low[:, None])
    if (np.abs(Q - expected) > SAME * expected).any() or np.abs(
        expected.sum(axis=0) - 1
    ).max() > COLUMN_ERROR:
        return strategy
    return TwoLevelStrategy(pack(patterns), low, Q.shape[1], E)


DIGITS = 12
"""Leading binary digits of a probability that are drawn 64 bits at a time; the rest is drawn bit by bit."""
ROWS = 255
"""Number of rows whose bits are summed in one byte, which holds at most 255."""


def bernoulli(rows: int, n: int, q: float, rng: np.random.Generator) -> np.ndarray:
    """Return bit-packed rows (rows x ceil(n/8)) of independent bits that are one with probability q.

    64 bits at a time are compared with the leading 12 binary digits of q, from the last digit to the first:
    a random word r gives acc | r for a one and acc & r for a zero. The share of zeros that then still has
    to become one is below 2^-12, and those are chosen one by one, so that q is exact to double precision.
    """
    width = -(-n // 8)
    words = np.zeros(-(-rows * width // 8), dtype=np.uint64)
    lead = math.floor(q * 2**DIGITS)
    for digit in range(DIGITS if lead else 0):
        random = rng.integers(0, 2**64, len(words), dtype=np.uint64)
        combine = np.bitwise_or if lead >> digit & 1 else np.bitwise_and
        combine(words, random, out=words)
    flat = words.view(np.uint8)[: rows * width]
    lead_share = lead / 2**DIGITS
    places = _places(8 * rows * width, (q - lead_share) / (1 - lead_share), rng)
    np.bitwise_or.at(flat, places >> 3, _mask(places))
    packed = flat.reshape(rows, width)
    if n % 8:
        packed[:, -1] &= 256 - (1 << (8 - n % 8))
    return packed


def put(packed: np.ndarray, values: np.ndarray, bits: np.ndarray) -> None:
    """Write one bit of each row: bits (N,) at the positions `values` (N,)."""
    rows, places, mask = np.arange(len(values)), values >> 3, _mask(values)
    packed[rows, places] = np.where(bits, packed[rows, places] | mask, packed[rows, places] & ~mask)


def resize(packed: np.ndarray, kept: np.ndarray, k: int, n: int, rng: np.random.Generator) -> None:
    """Flip random bits of every row until it has k ones; the bit at `kept` (N,) is never flipped."""
    excess = np.bitwise_count(packed).sum(axis=1, dtype=np.int64) - k
    active = np.flatnonzero(excess)
    while len(active):
        places = rng.integers(0, n, len(active))
        mask, too_many = _mask(places), excess[active] > 0
        set_already = (packed[active, places >> 3] & mask) > 0
        good = (set_already == too_many) & (places != kept[active])
        rows = active[good]
        packed[rows, places[good] >> 3] ^= mask[good]
        excess[rows] -= np.where(too_many[good], 1, -1)
        active = active[excess[active] != 0]


def column_sums(packed: np.ndarray, n: int) -> np.ndarray:
    """Return the number of rows in which each bit is set, shape (n,)."""
    sums = np.zeros(n, dtype=np.int64)
    for first in range(0, len(packed), ROWS):
        sums += np.unpackbits(packed[first : first + ROWS], axis=1, count=n).sum(axis=0, dtype=np.uint8)
    return sums


def check_packed(reports: np.ndarray, n: int) -> np.ndarray:
    """Return bit-packed reports over n values, shape (N, ceil(n/8)), after checking them."""
    packed, width = np.asarray(reports), -(-n // 8)
    if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != width:
        raise ValueError(
            f"reports over {n} values are rows of {width} bytes; these have shape {packed.shape} "
            f"and type {packed.dtype}"
        )
    if n % 8 and (packed[:, -1] & ((1 << (8 - n % 8)) - 1)).any():
        raise ValueError(f"a report sets bits behind the last of its {n} values, which no client does")
    return packed


def all_sets(n: int) -> np.ndarray:
    """Return the members of all 2^n sets of values, as a boolean matrix (2^n x n)."""
    numbers = np.arange(2**n, dtype=">u4")[:, None]
    return unpack(numbers.view(np.uint8), 32)[:, 32 - n :]


def _places(total: int, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return which of `total` places are chosen when each is with probability `share`, independently."""
    count = rng.binomial(total, share)
    chosen = np.zeros(0, dtype=np.int64)
    while len(chosen) < count:
        chosen = np.unique(np.concatenate([chosen, rng.integers(0, total, count - len(chosen))]))
    return chosen


def _mask(places: np.ndarray) -> np.ndarray:
    """Return a byte for each place in which only that place's bit is set; place 0 is the highest bit."""
    return np.right_shift(128, places & 7).astype(np.uint8)
