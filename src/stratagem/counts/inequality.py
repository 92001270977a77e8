"""Inequalities P[a] >= c P[b] between cells of a matrix, c from 0 to 1.

Privacy, monotonicity, honesty, fairness and symmetry all have this form. Where two matrices obey such
inequalities, so does their cell-wise maximum; a matrix therefore has a least majorant that obeys them.
"""

from __future__ import annotations

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
