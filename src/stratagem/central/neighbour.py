"""Neighbouring data: what one person can change, and how far that moves the answers."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from scipy.spatial.distance import pdist

Neighbours = Literal["add-remove", "replace"]
"""Neighbour relation: "add-remove" is one person more or less, "replace" one person with another value."""
EQUAL = 1 - 1e-14
"""Fraction of the sum of the two greatest lengths from which a distance counts as equal to that sum, up to rounding."""


def check(neighbours: str) -> Neighbours:
    """Return the neighbour relation unchanged if it is known.

    Raises:
        ValueError: for any other than "add-remove" and "replace".
    """
    for relation in get_args(Neighbours):
        if neighbours == relation:
            return relation
    raise ValueError(f"neighbours is {neighbours!r}; choose one of {', '.join(get_args(Neighbours))}.")


def sensitivity(A: np.ndarray, neighbours: Neighbours, norm: Literal[1, 2]) -> float:
    """Return max ||A x - A x'|| over neighbouring data x, x' for queries A (k x n).

    Adding or removing a person of type u moves A x by the column A_u; replacing u by v moves it by A_u - A_v,
    as far as 2 on the histogram in the L1 norm, so that this relation protects more.
    """
    lengths = np.linalg.norm(A, ord=norm, axis=0)
    if check(neighbours) == "add-remove":
        return float(lengths.max())
    longest = lengths.argmax()
    largest = float(np.linalg.norm(A - A[:, [longest]], ord=norm, axis=0).max())
    if largest >= np.sort(lengths)[-2:].sum() * EQUAL:
        return largest
    metric = "cityblock" if norm == 1 else "euclidean"
    return float(pdist(A.T, metric).max(initial=0.0))
