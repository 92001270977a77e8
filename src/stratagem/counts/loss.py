"""What an answer i costs where the count is j, and how the costs of the counts make one number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

PATTERN = re.compile(r"L([012])(?:,(\d+))?")
Aggregate = Literal["sum", "max"]
LARGEST = 1e100
"""Largest entry of a loss matrix: sums of products stay finite."""


@dataclass(frozen=True, eq=False)
class Loss:
    """A loss matrix C (n+1 x n+1): the cost of output i at count j.

    By name: "L0", "L1", "L2" are |i - j|^t with 0^0 = 0; "L0,d", "L1,d", "L2,d" the same where |i - j| > d.
    L0 and L0,d carry the factor (n + 1)/n, so that the uniform mechanism costs 1 under L0.
    """

    name: str
    cost: np.ndarray

    @classmethod
    def of(cls, loss: str | Sequence | np.ndarray, n: int) -> Loss:
        """Return the loss of that name, or of that matrix."""
        if isinstance(loss, str):
            return cls._named(loss, n)
        try:
            cost = np.empty(0) if np.iscomplexobj(loss) else np.array(loss, dtype=float)
        except (TypeError, ValueError):
            cost = np.empty(0)
        if cost.shape != (n + 1, n + 1) or not (cost >= 0).all() or cost.max() > LARGEST:
            raise ValueError(
                f"the loss matrix must be {n + 1} x {n + 1}, outputs by counts, nowhere negative or above 1e100"
            )
        return cls("matrix", cost)

    @classmethod
    def _named(cls, name: str, n: int) -> Loss:
        power, above, factor = distance_power(name, n)
        i, j = np.indices((n + 1, n + 1))
        distance = np.abs(i - j)
        cost = np.where(distance > above, factor * distance.astype(float) ** power, 0.0)
        return cls(f"L{power}" + (f",{above}" if above else ""), cost)

    @property
    def symmetric(self) -> bool:
        """Whether the loss is unchanged when counts and outputs are both reversed, C[i, j] = C[n - i, n - j]."""
        return bool((self.cost == self.cost[::-1, ::-1]).all())


def distance_power(name: str, n: int) -> tuple[int, int, float]:
    """Return t, d and the factor of a loss |i - j|^t [|i - j| > d] by its name."""
    found = PATTERN.fullmatch(name.replace(" ", "").upper())
    if not found:
        raise ValueError(f"loss {name!r} is unknown: choose L0, L1, L2, or L0,2 for errors above 2")
    power, above = int(found[1]), int(found[2] or 0)
    if above >= n:
        raise ValueError(f"loss {name!r} asks for errors above {above}; counts to {n} have none")
    return power, above, (n + 1) / n if power == 0 else 1.0


def weights_of(prior: Sequence[float] | np.ndarray | None, n: int) -> np.ndarray:
    """Return the weights of the counts (n+1,), normalised to sum to one; uniform if none are given."""
    if prior is None:
        return np.full(n + 1, 1 / (n + 1))
    try:
        found = np.array(prior, dtype=float)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.shape != (n + 1,) or not np.isfinite(found).all() or found.min() < 0 or found.max() == 0:
        raise ValueError(f"the prior must have {n + 1} weights for counts 0 to {n}, none negative, not all 0")
    found /= found.max()  # so that the sum of large weights is no infinity, which made all of them 0
    return found / found.sum()


def check_aggregate(aggregate: str) -> None:
    """Refuse what is neither "sum" nor "max" with a ValueError."""
    if aggregate not in get_args(Aggregate):
        raise ValueError(f"aggregate is {aggregate!r}: choose sum or max")


def total_cost(by_count: np.ndarray, weights: np.ndarray, aggregate: Aggregate) -> float:
    """Return sum_j w_j L_j, or the largest L_j of a count that has weight.

    Raises:
        ValueError: for an aggregate that is neither "sum" nor "max".
    """
    check_aggregate(aggregate)
    if aggregate == "max":
        return float(by_count[weights > 0].max())
    return float(weights @ by_count)
