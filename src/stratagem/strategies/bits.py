"""Sets of values as packed bits: random sets, sums over sets, and checks of reports."""

from __future__ import annotations

import math

import numpy as np

from stratagem.strategies.two_level import unpack

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
