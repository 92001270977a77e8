"""Orthogonal queries: Haar wavelets of an ordered attribute, parities of binary attributes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def haar(domain_size: int) -> np.ndarray:
    """Return the total and the difference between the halves of every node of a binary tree (k x n).

    Rows are not scaled: their entries are 0, 1 and -1, and a person changes one row a level and the total,
    each by 1. A domain that is not a power of two is cut out of the next one; rows that are zero there are left out.

    Reference:
        Xiao, Wang, Gehrke, "Differential privacy via wavelet transforms", ICDE 2010 (Privelet).
    """
    size = 1 << (domain_size - 1).bit_length()
    widths = [size >> level for level in range(size.bit_length() - 1)]
    halves = [np.kron(np.eye(size // w), np.repeat([[1, -1]], w // 2, axis=1)) for w in widths]
    K = np.vstack([np.ones((1, size)), *halves])[:, :domain_size].astype(np.int64)
    return K[K.any(axis=1)]


def parities(attributes: int, sets: Iterable[tuple[int, ...]]) -> np.ndarray:
    """Return (-1)^(number of attributes of the set that are 1), a row a set, a column a cell of {0, 1}^d.

    Reference:
        Barak, Chaudhuri, Dwork, Kale, McSherry, Talwar, PODS 2007.
    """
    cells = np.arange(1 << attributes)
    bits = (cells[:, None] >> np.arange(attributes)[::-1]) & 1
    return np.array([1 - 2 * (bits[:, list(chosen)].sum(axis=1) % 2) for chosen in sets], dtype=np.int64)
