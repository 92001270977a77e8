"""What is asked of a count mechanism: what its answers cost, and the properties, as inequalities between its cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Literal, NamedTuple, get_args

import numpy as np


class Inequalities(NamedTuple):
    """P[greater] >= factor P[less], cells by their number in the flattened matrix."""

    greater: np.ndarray
    less: np.ndarray
    factor: Fraction

    def least(self, less: np.ndarray) -> np.ndarray:
        """Return the least allowed left sides, factor P[less], rounded up among whole numbers."""
        if less.dtype == object:
            return -((-self.factor.numerator * less) // self.factor.denominator)
        return float(self.factor) * less

    def holds(self, cells: np.ndarray) -> bool:
        """Return whether all inequalities hold exactly for whole numbers (flat array of Python integers)."""
        return bool((self.shortfall(cells) <= 0).all())

    def shortfall(self, cells: np.ndarray) -> np.ndarray:
        """Return factor P[less] - P[greater], rounded up among whole numbers; positive where it is broken."""
        return self.least(cells[self.less]) - cells[self.greater]


def least_majorant(cells: np.ndarray, families: list[Inequalities]) -> np.ndarray:
    """Return the least array that is nowhere below `cells` (flat) and obeys every inequality.

    Among whole numbers right sides are rounded up, so a cell beside a positive one never becomes zero.
    """
    cells = cells.copy()
    changed = True
    while changed:
        changed = False
        for family in families:
            late = family.shortfall(cells) > 0
            if late.any():
                changed = True
                np.maximum.at(cells, family.greater[late], family.least(cells[family.less[late]]))
    return cells


def joined(families: list[Inequalities]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return greater, less and float factor of all inequalities, one below the other."""
    greater = np.concatenate([family.greater for family in families])
    less = np.concatenate([family.less for family in families])
    factor = np.concatenate([np.full(len(family.less), float(family.factor)) for family in families])
    return greater, less, factor


class Property(StrEnum):
    """A property of P (n+1 x n+1), P[i, j] = Pr[output i | count j]; the value says what it asks.

    Reference:
        Cormode, Kulkarni, Srivastava, "Constrained private mechanisms for count data", ICDE 2018.
    """

    RH = "row honesty: P[i, i] >= P[i, j]"
    RM = "row monotonicity: P[i, j] falls as j leaves i"
    CH = "column honesty: P[j, j] >= P[i, j]"
    CM = "column monotonicity: P[i, j] falls as i leaves j"
    F = "fairness: P[i, i] is the same for all i"
    WH = "weak honesty: P[j, j] >= 1/(n + 1)"
    S = "symmetry: P[i, j] = P[n - i, n - j]"


def property_set(asked: str | Property | Iterable[str | Property]) -> frozenset[Property]:
    """Return the properties named, as in "RM,WH", ["RM", "WH"] or "all"."""
    known = {one.name: {one} for one in Property} | {str(one).upper(): {one} for one in Property}
    known["ALL"] = set(Property)
    listed: Iterable[object] = asked if isinstance(asked, Iterable) else [asked]
    if isinstance(asked, str):
        single = asked.upper() in known
        listed = [asked] if single else [name.strip() for name in asked.split(",") if name.strip()]
    found: set[Property] = set()
    for name in listed:
        if (key := str(name).upper()) not in known:
            raise ValueError(f"property {name!r} is unknown: choose from {', '.join(Property.__members__)}")
        found |= known[key]
    return frozenset(found)


def names(properties: Iterable[Property]) -> list[str]:
    """Return the short names in the order of the table."""
    chosen = set(properties)
    return [member.name for member in Property if member in chosen]


def inequalities(kind: Property, n: int) -> list[Inequalities]:
    """Return a property as inequalities between cells; none for WH, which compares with a constant."""
    i, j = np.indices((n + 1, n + 1))
    off, left, below = i != j, j < i, i > j
    cell = i * (n + 1) + j
    inward_row = np.where(left, cell + 1, cell - 1)
    inward_column = np.where(below, cell - (n + 1), cell + (n + 1))
    match kind:
        case Property.RH:
            pairs = (i * (n + 2), cell)
        case Property.CH:
            pairs = (j * (n + 2), cell)
        case Property.RM:
            pairs = (inward_row, cell)
        case Property.CM:
            pairs = (inward_column, cell)
        case Property.F:
            diagonal = np.arange(n + 1) * (n + 2)
            return [Inequalities(np.roll(diagonal, -1), diagonal, Fraction(1))]
        case Property.S:
            mirrored = (n + 1) ** 2 - 1 - cell
            return [Inequalities(mirrored.ravel(), cell.ravel(), Fraction(1))]
        case Property.WH:
            return []
    return [Inequalities(pairs[0][off], pairs[1][off], Fraction(1))]


def privacy(alpha: Fraction, n: int, reach: int = 1) -> list[Inequalities]:
    """Return P[i, j] >= alpha P[i, j'] for 0 < |j - j'| <= reach.

    Reach 1 is epsilon-DP where one person's answer changes, reach k is (k, epsilon)-LLDP (limited-precision
    local DP), reach n is epsilon-LDP.
    """
    cell = np.arange((n + 1) ** 2).reshape(n + 1, n + 1)
    found = []
    for step in range(1, min(reach, n) + 1):
        near, far = cell[:, :-step].ravel(), cell[:, step:].ravel()
        found += [Inequalities(near, far, alpha), Inequalities(far, near, alpha)]
    return found


def column_ratio(beta: Fraction, n: int) -> list[Inequalities]:
    """Return P[i, j] >= beta P[i', j] for neighbouring outputs i, i'."""
    cell = np.arange((n + 1) ** 2).reshape(n + 1, n + 1)
    above, below = cell[:-1].ravel(), cell[1:].ravel()
    return [Inequalities(above, below, beta), Inequalities(below, above, beta)]


def holding(cells: np.ndarray, total: int, n: int) -> frozenset[Property]:
    """Return the properties of a matrix of whole numbers (flat, columns that sum to `total`), exactly."""
    diagonal = cells[np.arange(n + 1) * (n + 2)]
    found = {kind for kind in Property if all(family.holds(cells) for family in inequalities(kind, n))}
    if any((n + 1) * entry < total for entry in diagonal):
        found.discard(Property.WH)
    return frozenset(found)


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
