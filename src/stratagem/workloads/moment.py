"""The moments of a number: queries whose columns are the powers of its values."""

import numpy as np
from numpy.typing import ArrayLike

from stratagem.math.number import array, integer
from stratagem.workloads.domain import Domain
from stratagem.workloads.explicit import Explicit

HIGHEST = 8
"""Highest power: beyond it, powers of two values of an interval are hard to tell apart."""


def power_queries(
    values: ArrayLike, order: int, domain: Domain | None = None, number: str | None = None
) -> Explicit:
    """Return the queries v_u^j/M^(j - 1), j = 1..order, M = max |v|, for the value v_u of every user type u.

    They are named after `number`, by default the domain's one attribute.

    Raises:
        ValueError: for values that are not finite numbers, one for each user type, not all zero.
    """
    k = integer(order, "The number of moments", 1, HIGHEST, "give 1 for the mean, 2 for mean and variance")
    v = array(values)
    if v.dtype.kind not in "biuf" or v.ndim != 1 or not np.isfinite(v).all() or not v.any():
        raise ValueError(
            f"the values were given as {v.dtype} of shape {v.shape}, but must be finite numbers, not all of them zero: "
            "give a list with the number of each user type"
        )
    v = v.astype(float)
    largest = np.abs(v).max()
    over = Domain.of(len(v)) if domain is None else domain
    number = number or (over.attributes[0] if len(over.attributes) == 1 else "values")
    names = [f"sum of {number}"] + [f"sum of {number}^{j} / {largest ** (j - 1):g}" for j in range(2, k + 1)]
    return Explicit(np.array([v * (v / largest) ** j for j in range(k)]), over, tuple(names))
