"""User types of simulated users: checked, counted and grouped."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np


def users_by_type(values: np.ndarray, domain_size: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield every user type that occurs and the positions of its users, found by one radix sort."""
    order = np.argsort(values.astype(np.min_scalar_type(domain_size)), kind="stable")
    ends = np.cumsum(np.bincount(values, minlength=domain_size))
    for u, (first, last) in enumerate(pairwise((0, *ends.tolist()))):
        if last > first:
            yield u, order[first:last]


def check_values(values: np.ndarray, domain_size: int) -> np.ndarray:
    """Return user types as integers.

    Raises:
        ValueError: if one of them is outside 0..n-1 or not an integer.
    """
    array = np.asarray(values)
    inside = (array >= 0) & (array < domain_size) & (array % 1 == 0)
    if array.ndim != 1 or not inside.all():
        raise ValueError(f"User types must be a list of integers from 0 to {domain_size - 1}.")
    return array.astype(np.int64)


def check_counts(x: np.ndarray, domain_size: int) -> np.ndarray:
    """Return a data vector of whole, nonnegative counts as integers.

    Raises:
        ValueError: if its length is not n or an entry is negative or fractional.
    """
    array = np.asarray(x)
    if array.shape != (domain_size,) or (array < 0).any() or (array % 1 != 0).any():
        raise ValueError(
            f"A data vector needs {domain_size} nonnegative whole numbers, one for each user type."
        )
    return array.astype(np.int64)
