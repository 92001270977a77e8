"""Views: contingency tables of a few attributes each, from which smaller tables are read."""

from __future__ import annotations

from collections.abc import Sequence

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
