"""Exact samplers: they draw noise without access to the counts, then combine it with the counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

import numpy as np

from stratagem.counts.exact import Whole

Source = Callable[[int], bytes]
"""Function from a number k to k random bytes."""
PRECISION = 64
"""Number of random bits read at first for a comparison; they almost always decide it."""
GUARD = 32
"""Further bits for the powers of alpha, so that rounding them hardly changes the probabilities."""


def below(limit: int, source: Source) -> int:
    """Return a uniform whole number from 0 to limit - 1; each try keeps more than half of what it draws."""
    bits = (limit - 1).bit_length()
    size = -(-bits // 8)
    while True:
        found = int.from_bytes(source(size), "big") >> (8 * size - bits)
        if found < limit:
            return found


@dataclass(frozen=True)
class TwoSided:
    """X with Pr[X = x] in proportion to alpha^|x|, exactly, for |x| < 2^bits.

    |X| is a number of successes G before a failure, Pr[G = g] = (1 - alpha) alpha^g. As alpha^g is the product
    of alpha^(2^k) over the binary digits of g, the digits of G are independent: digit k is 1 with probability
    A/(1 + A), A = alpha^(2^k), and G >= 2^bits with probability alpha^(2^bits). A random sign follows, and
    (0, minus) is drawn again, or else 0 would come twice as often.

    Every digit compares a uniform real number, read 64 bits at first, with its chance, known between two whole
    multiples of 2^-64; where these do not decide, about once in 2^64 draws, twice as many bits are taken.
    """

    alpha: Fraction
    bits: int
    beyond: bool
    """Whether noise of size 2^bits and more is drawn too, as 2^bits or -2^bits; otherwise it is left out."""

    def draw(self, source: Source) -> int:
        """Return X; every try takes one string of bytes of fixed length."""
        chances = self._chances
        while True:
            raw, size = source(8 * len(chances) + 1), 0
            for k, (low, high) in enumerate(chances):
                u = int.from_bytes(raw[8 * k : 8 * k + 8], "big")
                size |= (u < low if not low <= u < high else self.decided(k, u, source)) << k
            size, negative = min(size, 1 << self.bits), raw[-1] >> 7
            if size or not negative:
                return -size if negative else size

    def decided(self, digit: int, u: int, source: Source) -> bool:
        """Return whether a real number whose first 64 binary places are u is below the chance of a digit."""
        precision = PRECISION
        low, high = self._chances[digit]
        while low <= u < high:
            u = u << precision | int.from_bytes(source(precision // 8), "big")
            precision *= 2
            low, high = self.chances(precision)[digit]
        return u < low

    @cached_property
    def _chances(self) -> list[tuple[int, int]]:
        return self.chances(PRECISION)

    def chances(self, precision: int) -> list[tuple[int, int]]:
        """Return whole numbers low <= 2^precision chance <= high for every digit and, beyond, for the rest."""
        work = precision + GUARD
        p, q = self.alpha.as_integer_ratio()
        low, high, found = (p << work) // q, -((-p << work) // q), []
        for _ in range(self.bits):
            one = 1 << work
            found.append(((low << precision) // (one + low), -((-high << precision) // (one + high))))
            low, high = low * low >> work, -(-high * high >> work)
        if self.beyond:
            found.append((low >> GUARD, -(-high >> GUARD)))
        return found


class Sampler(ABC):
    """Draws the outputs of a mechanism exactly, in whole numbers.

    Guarantee:
        `noise` is not told the counts: how many random bytes are taken, and how often a draw is repeated,
        cannot depend on them.
    """

    @abstractmethod
    def noise(self, source: Source) -> int:
        """Return the noise of one group."""

    @abstractmethod
    def outputs(self, counts: np.ndarray, noise: Sequence[int]) -> np.ndarray:
        """Return the outputs (k,) for counts (k,) and their noise (k,)."""

    def release(self, counts: np.ndarray, source: Source) -> np.ndarray:
        """Return an output for every count (k,)."""
        return self.outputs(counts, [self.noise(source) for _ in range(len(counts))])


class ColumnSampler(Sampler):
    """Draws from columns of whole numbers: a uniform number below their total, found among partial sums.

    Every column is filled up to 2^s - 1 sums, so a search reads s of them, whatever the count.
    """

    def __init__(self, whole: Whole) -> None:
        self.total = whole.total
        self.sums: list[Sequence[int]] = [_search_table(column.tolist()) for column in whole.cells.T]

    def noise(self, source: Source) -> int:
        return below(self.total, source)

    def outputs(self, counts: np.ndarray, noise: Sequence[int]) -> np.ndarray:
        found = [bisect_right(self.sums[j], u) for j, u in zip(counts.tolist(), noise, strict=True)]
        return np.array(found, dtype=np.int64)


class ClampedSampler(Sampler):
    """Adds two-sided geometric noise X to the count and clamps the sum to 0..n."""

    def __init__(self, size: int, alpha: Fraction) -> None:
        self.size, self.two_sided = size, TwoSided(alpha, size.bit_length(), beyond=True)

    def noise(self, source: Source) -> int:
        """Return X limited to +-2^s with 2^s > n; the clamped sum is the same as without a limit."""
        return self.two_sided.draw(source)

    def outputs(self, counts: np.ndarray, noise: Sequence[int]) -> np.ndarray:
        return np.clip(counts + np.array(noise, dtype=np.int64), 0, self.size)


class RankSampler(Sampler):
    """Draws a rank r in 0..n with probability in proportion to alpha^ceil(r/2), then the output of that rank.

    Seen from the count j, with m = min(j, n - j), the ranks are the distances 0, 1, 1, ..., m, m on both sides
    and then m + 1, ..., n - m on the longer side. Two-sided noise 0, 1, -1, 2, -2, ... gives 0, 1, 2, 3, 4, ...;
    what exceeds n is drawn again.
    """

    def __init__(self, size: int, alpha: Fraction) -> None:
        self.size, self.two_sided = size, TwoSided(alpha, ((size + 1) // 2).bit_length(), beyond=False)

    def noise(self, source: Source) -> int:
        while True:
            x = self.two_sided.draw(source)
            rank = 2 * x - 1 if x > 0 else -2 * x
            if rank <= self.size:
                return rank

    def outputs(self, counts: np.ndarray, noise: Sequence[int]) -> np.ndarray:
        """Return the outputs (k,) of the ranks r.

        Up to rank 2m they are j + ceil(r/2) for odd r and j - r/2 for even r. Beyond, they are r where 2j <=
        n, else n - r.
        """
        rank, n = np.array(noise, dtype=np.int64), self.size
        near = counts + np.where(rank % 2, (rank + 1) // 2, -rank // 2)
        far = np.where(2 * counts <= n, rank, n - rank)
        return np.where(rank <= 2 * np.minimum(counts, n - counts), near, far)


class UniformSampler(Sampler):
    """Draws every output equally often; the count is not read."""

    def __init__(self, size: int) -> None:
        self.size = size

    def noise(self, source: Source) -> int:
        return below(self.size + 1, source)

    def outputs(self, counts: np.ndarray, noise: Sequence[int]) -> np.ndarray:
        return np.array(noise, dtype=np.int64)


def pseudo_random(rng: np.random.Generator, block: int = 1 << 16) -> Source:
    """Return the bytes of a generator as a source, for simulation alone: who guesses its state knows the counts."""
    kept, used = b"", 0

    def source(size: int) -> bytes:
        nonlocal kept, used
        if used + size > len(kept):
            kept, used = rng.bytes(max(block, size)), 0
        used += size
        return kept[used - size : used]

    return source


def _search_table(weights: Sequence[int]) -> list[int]:
    """Return the sums of the first 1, 2, ... weights, filled up to 2^s - 1 with the total."""
    sums = list(accumulate(weights))
    steps = (len(sums) - 1).bit_length()
    return sums[:-1] + [sums[-1]] * ((1 << steps) - len(sums))
