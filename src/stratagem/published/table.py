"""Contingency tables as partitions, and frequencies: characters of a domain whose attributes are written in bits."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from stratagem.math.number import integer


def attribute_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of values of the attributes."""
    try:
        given = tuple(sizes)
    except TypeError:
        given = ()
    if not given:
        raise ValueError(
            f"the sizes of the attributes are {sizes!r}: give at least one, for example (2, 2, 3)"
        )
    return tuple(
        integer(a, "The size of an attribute", 1, 1 << 24, "merge some of its values") for a in given
    )


def table_cells(sizes: Sequence[int], attributes: Sequence[int]) -> np.ndarray:
    """Return the cell of every user type (n,) in the table of these attributes, row-major."""
    coordinates = np.indices(sizes).reshape(len(sizes), -1)
    chosen = sorted(attributes)
    if not chosen:
        return np.zeros(prod(sizes), dtype=np.int64)
    cells = np.ravel_multi_index(tuple(coordinates[i] for i in chosen), [sizes[i] for i in chosen])
    return np.asarray(cells)


def widths(sizes: Sequence[int]) -> list[int]:
    """Return the bits that each attribute takes, ceil(log2 a)."""
    return [(a - 1).bit_length() for a in sizes]


def codes(sizes: Sequence[int]) -> np.ndarray:
    """Return every cell as one binary number (n,): its coordinates in bits side by side, first one lowest."""
    code, start = np.zeros(prod(sizes), dtype=np.int64), 0
    for coordinate, width in zip(np.indices(sizes).reshape(len(sizes), -1), widths(sizes), strict=True):
        code, start = code | coordinate << start, start + width
    return code


def touching(sizes: Sequence[int], attributes: Sequence[int]) -> np.ndarray:
    """Return the frequencies that touch no other attributes than these, 0 first (2^bits of them,)."""
    bits, starts = widths(sizes), np.cumsum([0, *widths(sizes)])
    found = np.zeros(1, dtype=np.int64)
    for i in sorted(attributes):
        found = (found[None, :] | (np.arange(1 << bits[i]) << starts[i])[:, None]).ravel()
    return found


def positive(frequencies: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """Return where the characters chi_f(u) = (-1)^popcount(f & code(u)) are +1 (K x n), boolean."""
    return np.bitwise_count(frequencies[:, None] & codes(sizes)) & 1 == 0


def energies(sizes: Sequence[int], V: np.ndarray) -> np.ndarray:
    """Return chi^T V chi / n for the characters of all 2^bits frequencies.

    It is the Walsh-Hadamard transform of the sums of V over the pairs of cells of equal code(u) xor code(w).
    """
    code, size = codes(sizes), 1 << sum(widths(sizes))
    sums = np.bincount((code[:, None] ^ code).ravel(), V.ravel(), size)
    half = 1
    while half < size:
        low, high = np.moveaxis(sums.reshape(-1, 2, half), 1, 0)
        sums, half = np.stack([low + high, low - high], axis=1).ravel(), 2 * half
    return sums / len(code)
