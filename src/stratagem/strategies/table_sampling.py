"""Subset selection on the cells of a random table, known by its eigenvalues on domains of any size."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, prod
from typing import final

import numpy as np

from stratagem.strategies.subset_selection import SubsetSelection


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class TableSampling:
    """A table is drawn by its type and placed at random; the user's cell is told by subset selection.

    Permutations of the values of an attribute leave this as it is. So the information matrix M has one
    eigenvalue for each type l of characters, with e_t that of the oracle of table t:

        m_l = sum_t share_t prod_g C(t_g, l_g)/C(|g|, l_g) e_t.

    It has an accuracy and a measured epsilon; a client needs far fewer reports: see `JuntaStrategy`.
    """

    sizes: tuple[int, ...]
    """Attribute sizes."""
    groups: tuple[tuple[int, ...], ...]
    """A partition of the attributes into interchangeable ones."""
    tables: tuple[tuple[int, ...], ...]
    """The types of the tables: how many attributes of each group they hold."""
    oracles: tuple[SubsetSelection, ...]
    """The oracle over the cells of each type of table."""
    shares: np.ndarray
    """The probability of each type of table (T,), of sum one."""

    @property
    def domain_size(self) -> int:
        """Number n of user types, exact at any size."""
        return prod(self.sizes)

    @property
    def epsilon(self) -> float:
        """Measured privacy loss: the largest of the oracles', for the table is drawn without a look at the value."""
        return max(oracle.epsilon for oracle in self.oracles)

    @property
    def delta(self) -> float:
        """Zero: epsilon holds for every report."""
        return 0.0

    @property
    def outputs(self) -> None:
        """Not counted: sets of cells are too many."""
        return None

    @property
    def report(self) -> str:
        """What one user sends."""
        largest = max(self.oracles, key=lambda oracle: oracle.n)
        many = sum(prod(map(comb, map(len, self.groups), table)) for table in self.tables)
        return f"1 of {many} tables, at most {largest.report}"

    def eigenvalues(self, kind: tuple[int, ...]) -> np.ndarray:
        """Return the eigenvalue of M that all characters of a type share, (1,); 1 at the trivial one."""
        if not any(kind):
            return np.ones(1)
        total = 0.0
        for table, oracle, share in zip(self.tables, self.oracles, self.shares, strict=True):
            held = prod(
                comb(own, touched) / comb(len(group), touched)
                for group, own, touched in zip(self.groups, table, kind, strict=True)
            )
            total += float(share) * held * oracle.eigenvalue
        return np.array([total])


def shares_by_cost(
    energies: np.ndarray, held: np.ndarray, strengths: np.ndarray, many: np.ndarray | None = None
) -> np.ndarray:
    """Return the probabilities of tables, in proportion to the square root of what each costs (T,).

    Characters cost their sum of v over the eigenvalue of a table's information; the tables that hold them
    share that cost.

    Args:
        energies: the sum of v over the characters of each kind (K,), nonnegative.
        held: how many of the tables of each type hold characters of each kind (K, T).
        strengths: the eigenvalue of the information of the oracle of each type of table (T,).
        many: how many tables of each type there are (T,); one by default.
    """
    number = np.ones(len(strengths)) if many is None else many
    together = held.sum(axis=1)
    known = together > 0
    costs = (energies[known] / together[known]) @ held[known]
    shares = np.sqrt(number * costs / strengths)
    return shares / shares.sum()
