"""The properties that a count mechanism may be asked to have, as inequalities between its cells."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

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
