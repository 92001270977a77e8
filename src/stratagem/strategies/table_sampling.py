"""Subset selection on the cells of a random table, known by its eigenvalues on domains of any size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, prod
from typing import NoReturn, final

import numpy as np

from stratagem.strategies.set_protocol import SubsetSelection
from stratagem.strategies.strategy import MatrixStrategy, Randomiser


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class TableSampling(Randomiser):
    """A mechanism that draws a table at random and reports the user's cell of it by subset selection.

    Permutations of the values of an attribute do not change it. So the information matrix M has one
    eigenvalue for each type l of characters, with e_t the eigenvalue of the oracle of table t:

        m_l = sum_t share_t prod_g C(t_g, l_g)/C(|g|, l_g) e_t.

    Its accuracy and epsilon are known, but it has too many reports for a client: see `JuntaStrategy`.
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
        return prod(self.sizes)

    @property
    def epsilon(self) -> float:
        return max(oracle.epsilon for oracle in self.oracles)

    @property
    def outputs(self) -> None:
        return None

    @property
    def report(self) -> str:
        largest = max(self.oracles, key=lambda oracle: oracle.n)
        many = sum(prod(map(comb, map(len, self.groups), table)) for table in self.tables)
        return f"1 of {many} tables, at most {largest.report}"

    def dense(self) -> MatrixStrategy:
        raise ValueError("table sampling has too many reports for a matrix: use a JuntaStrategy")

    def eigenvalues_at(self, touched: Sequence[int]) -> NoReturn:
        """Refuse, as characters of attributes whose values have an order may have eigenvalues of their own.

        Raises:
            ValueError: always.
        """
        raise ValueError("queries that know an order were given for table sampling: ask about tables alone")

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
    """Return the probabilities of the types of tables (T,), proportional to square roots of their costs.

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
