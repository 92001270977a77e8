"""Points and hyperplanes of finite geometries."""

from __future__ import annotations

import numpy as np

from stratagem.math.galois import field


def projective_points(order: int, dimension: int) -> int:
    """Return (q^t - 1)/(q - 1), the number of points, and of hyperplanes, of PG(t - 1, q)."""
    return (order**dimension - 1) // (order - 1)


def projective_hyperplanes(order: int, dimension: int, columns: int | None = None) -> np.ndarray:
    """Return which points of PG(t - 1, q) lie in which hyperplanes, K x K, K = (q^t - 1)/(q - 1).

    In Singer's order point i is the line through w^i in GF(q^t), and hyperplane j the kernel of
    x -> Tr(w^j x): [y, u] = [Tr(w^(y + u)) = 0], every row a translate of the first. `columns` keeps the
    first hyperplanes only. Each holds (q^(t-1) - 1)/(q - 1) points, two of them share (q^(t-2) - 1)/(q - 1).

    Reference:
        Singer 1938, "A theorem in finite projective geometry".
    """
    K = projective_points(order, dimension)
    inside = field(order**dimension).traces(order)[:K] == 0
    return inside[(np.arange(K)[:, None] + np.arange(K if columns is None else columns)) % K]


def affine_hyperplanes(order: int, dimension: int) -> np.ndarray:
    """Return which of the q (q^t - 1)/(q - 1) hyperplanes (rows) of AG(t, q) hold which of its q^t points.

    Rows are the sets {x in GF(q^t): Tr(w^j x) = b}, one for each class j and each b in GF(q), of q^(t-1)
    points; the first column is x = 0, column 1 + l is x = w^l.
    """
    traces, K = field(order**dimension).traces(order), projective_points(order, dimension)
    values = np.unique(traces)
    by_class = traces[(np.arange(K)[:, None] + np.arange(len(traces))) % len(traces)]
    by_class = np.hstack([np.zeros((K, 1), dtype=by_class.dtype), by_class])
    return (by_class[:, None, :] == values[:, None]).reshape(K * order, order**dimension)
