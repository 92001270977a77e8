"""Groups of nearly equal user types, which share one row of the linear programme of few queries."""

from __future__ import annotations

import itertools

import numpy as np

GROUPS, SEVERAL = 128, 64
"""Kinds of users that are told apart by one number, those of a group at most 1/126 of the range from each other, and
by two to five."""


def grouped(F: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean (g x r) and weight (g,) of groups of nearly equal rows of F (n x r), in lexicographic order.

    Equal rows are one group. Of one number the extremes are not grouped.
    """
    rows, group = np.unique(F, axis=0, return_inverse=True)
    group = group.ravel()
    single = rows.shape[1] == 1
    if len(rows) > (GROUPS if single else SEVERAL):
        group = (_cells(rows[:, 0]) if single else _halves(rows))[group]
    _, group = np.unique(group, return_inverse=True)
    total = np.bincount(group, weights)
    shares = np.where(total[group] > 0, weights, 1.0)
    means = [np.bincount(group, shares * f) / np.bincount(group, shares) for f in F.T]
    return np.column_stack(means), total


def _cells(f: np.ndarray) -> np.ndarray:
    """Return a cell for each number, ascending; the extremes have their own."""
    low, high = f.min(), f.max()
    place = 1 + np.floor((f - low) / (high - low) * (GROUPS - 2))
    return np.where(f == low, 0, np.where(f == high, GROUPS, place))


def _halves(rows: np.ndarray) -> np.ndarray:
    """Return a cell for each row (n x r): extreme rows have their own, the longest cells are halved."""
    shape = itertools.product([-1, 0, 1], repeat=rows.shape[1])
    directions = np.array(list(shape)) / np.maximum(np.ptp(rows, axis=0), np.finfo(float).tiny)
    extremes = np.unique((rows @ directions.T).argmax(axis=0))
    cell = np.zeros(len(rows), dtype=int)
    cell[extremes] = SEVERAL + np.arange(len(extremes))
    for new in range(1, SEVERAL - len(extremes)):
        sides = [np.ptp(rows[cell == one], axis=0) for one in range(new)]
        widest = int(np.argmax([side.max() for side in sides]))
        inside = np.flatnonzero(cell == widest)
        along = rows[inside, sides[widest].argmax()]
        cell[inside[along > (along.min() + along.max()) / 2]] = new
    return cell
