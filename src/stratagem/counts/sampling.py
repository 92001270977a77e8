"""Exact samplers: they draw noise without access to the counts, then combine it with the counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np

from stratagem.counts.exact import Whole
from stratagem.counts.noise import Source, TwoSided, below


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
        """Return a uniform whole number below the total."""
        return below(self.total, source)

    def outputs(self, counts: np.ndarray, noise: Sequence[int]) -> np.ndarray:
        """Return the numbers of the outputs whose part of the column the noise falls into."""
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
        """Return the outputs max(0, min(n, count + X)), of shape (k,)."""
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
        """Return a random rank in 0..n."""
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
        """Return a uniform output."""
        return below(self.size + 1, source)

    def outputs(self, counts: np.ndarray, noise: Sequence[int]) -> np.ndarray:
        """Return the noise itself as the outputs, of shape (k,)."""
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
