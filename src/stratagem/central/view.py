"""Views: contingency tables of a few attributes each, from which smaller tables are read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

Attributes = tuple[int, ...]


def tables(sizes: Sequence[int], views: Sequence[Attributes]) -> np.ndarray:
    """Return the cells of the tables of attribute sets as queries (k x n), view by view, in row-major order.

    Least squares on these queries is what PriView calls mutual consistency for views of equal size.

    Reference:
        Qardaji, Yang, Li, "PriView: practical differentially private release of marginals", SIGMOD 2014.
    """
    values = np.unravel_index(np.arange(int(np.prod(sizes))), tuple(sizes))
    rows = []
    for view in views:
        shape = [sizes[a] for a in view]
        cell = np.ravel_multi_index([values[a] for a in view], shape) if view else np.zeros_like(values[0])
        rows.append(np.arange(int(np.prod(shape)))[:, None] == cell)
    return np.vstack(rows).astype(np.int64)


def covering(attributes: int, size: int, margins: Sequence[Attributes]) -> tuple[Attributes, ...]:
    """Return sets of `size` attributes, each margin inside one of them, chosen greedily.

    Each choice covers the most margins not covered yet, the first in lexicographic order where several do.
    Margins of more than `size` attributes are views themselves.
    """
    left = {margin for margin in margins if len(margin) <= size}
    views = [margin for margin in margins if len(margin) > size]
    left = {margin for margin in left if not any(set(margin) <= set(view) for view in views)}
    while left:
        views.append(max(combinations(range(attributes), size), key=lambda v: _covered(v, left)))
        left = {margin for margin in left if not set(margin) <= set(views[-1])}
    return tuple(views)


def _covered(view: Attributes, margins: set[Attributes]) -> int:
    inside = set(view)
    return sum(inside.issuperset(margin) for margin in margins)
