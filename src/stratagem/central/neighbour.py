"""Neighbouring data: what one person can change, and how far that moves the answers."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from scipy.spatial.distance import pdist

Neighbours = Literal["add-remove", "replace"]
"""Whether one person more or less, or one person with another value."""


def check(neighbours: Neighbours) -> Neighbours:
    """Return the relation.

    Raises:
        ValueError: for any other than "add-remove" and "replace".
    """
    if neighbours not in get_args(Neighbours):
        raise ValueError(f"neighbours is {neighbours!r}; choose one of {', '.join(get_args(Neighbours))}.")
    return neighbours


def sensitivity(A: np.ndarray, neighbours: Neighbours, norm: Literal[1, 2]) -> float:
    """Return max ||A x - A x'|| over neighbouring data x, x' for queries A (k x n).

    Adding or removing a person of type u moves A x by the column A_u; replacing u by v moves it by A_u - A_v,
    as far as 2 on the histogram in the L1 norm, so that this relation protects more.
    """
    if check(neighbours) == "add-remove":
        return float(np.linalg.norm(A, ord=norm, axis=0).max())
    metric = "cityblock" if norm == 1 else "euclidean"
    return float(pdist(A.T, metric).max(initial=0.0))
