"""Views: contingency tables of a few attributes each, from which smaller tables are computed."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from stratagem.baselines.table import table_cells

Attributes = tuple[int, ...]


def tables(sizes: Sequence[int], views: Sequence[Attributes]) -> np.ndarray:
    """Return the cells of the tables of attribute sets as queries (k x n), view by view, row-major in
    ascending attributes.

    Least squares on these queries is what PriView calls mutual consistency for views of equal size.

    Reference:
        Qardaji, Yang, Li, "PriView: practical differentially private release of marginals", SIGMOD 2014.
    """
    rows = [np.arange(prod(sizes[a] for a in view))[:, None] == table_cells(sizes, view) for view in views]
    return np.vstack(rows).astype(np.int64)
