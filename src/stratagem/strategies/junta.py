"""Patterns of a few attributes placed at random, and tables drawn at random: no array is as large as the domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, permutations, product
from math import comb, prod
from typing import ClassVar, NoReturn, final

import numpy as np

from stratagem.io.screen import brief
from stratagem.strategies.pattern import Pattern
from stratagem.strategies.set_protocol import SubsetSelection
from stratagem.strategies.strategy import MatrixStrategy, Randomiser
from stratagem.strategies.translation import TranslationStrategy, checked


@final
@dataclass(frozen=True, eq=False)
class JuntaStrategy(TranslationStrategy):
    """Mixture of juntas: a report is a pattern b, the attributes it was placed on, and a translate.

    M has the eigenvalue sum_b w_b E[|x_b^(chi)|^2] at a character chi, the expectation over placements. With
    E_A the energy of x_b at characters that touch exactly the axes A, each attribute set of type l (so many
    attributes of each group) meets A with probability 1/prod_g C(|g|, l_g).

    Raises:
        ValueError: as `checked`.

    Reference:
        Marginal Hadamard mechanisms (Cormode, Kulkarni, Srivastava, SIGMOD 2018) are the case of one character.
    """

    __repr__ = brief

    sizes: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]
    patterns: tuple[Pattern, ...]
    weights: np.ndarray
    ratio: float
    cycles: tuple[int, ...] = field(init=False)
    """Lengths of the cycles, which are the sizes of the attributes."""

    def __post_init__(self) -> None:
        """Check all parts."""
        object.__setattr__(self, "cycles", tuple(self.sizes))
        object.__setattr__(self, "weights", checked(self))

    def eigenvalues(self, kind: tuple[int, ...]) -> np.ndarray:
        """Return M's eigenvalues at the characters of a type, of shape (a_1 - 1, ..., a_k - 1) for k attributes.

        Axes come in the order of the groups; the array is symmetric in those of one group.
        """
        touched = [group for group, count in enumerate(kind) for _ in range(count)]
        total = np.zeros([self.sizes[self.groups[group][0]] - 1 for group in touched])
        for axes, energies in self._energies.items():
            total += energies_of_type(axes, energies, self.groups, kind)
        return total

    def eigenvalues_at(self, touched: Sequence[int]) -> np.ndarray:
        by_group = [i for group in self.groups for i in sorted(set(group) & set(touched))]
        return self.eigenvalues(type_of(self.groups, touched)).transpose(np.argsort(by_group))

    def table_eigenvalues(self, attributes: Sequence[int]) -> np.ndarray:
        m = np.ones([self.sizes[i] for i in attributes])
        for picked in product((False, True), repeat=len(attributes)):
            if touched := [i for i, one in zip(attributes, picked, strict=True) if one]:
                block = self.eigenvalues_at(touched).transpose(np.argsort(np.argsort(touched)))
                m[tuple(slice(1, None) if one else 0 for one in picked)] = block
        return m

    @cached_property
    def _energies(self) -> dict[tuple[int, ...], np.ndarray]:
        """The weighted sum of the energies of all patterns of the same axes, at all characters of the axes."""
        totals: dict[tuple[int, ...], np.ndarray] = {}
        for pattern, weight in zip(self.patterns, self.weights, strict=True):
            energies = float(weight) * pattern.energies(self.ratio)
            totals[pattern.axes] = totals.get(pattern.axes, 0) + energies
        return totals


def type_of(groups: tuple[tuple[int, ...], ...], touched: Sequence[int]) -> tuple[int, ...]:
    """Return how many of the attributes touched are in each group."""
    return tuple(len(set(group) & set(touched)) for group in groups)


def energies_of_type(
    axes: tuple[int, ...], energies: np.ndarray, groups: tuple[tuple[int, ...], ...], kind: tuple[int, ...]
) -> np.ndarray:
    """Return the energy at each character of a type, averaged over the placements of a pattern's axes.

    `energies` are |x^(chi)|^2 at the characters of the axes; the result has one axis of a - 1 frequencies per
    attribute that the type touches, in the order of groups; zero where the pattern has too few axes.
    """
    sides = [[t for t, group in enumerate(axes) if group == g] for g in range(len(groups))]
    if any(count > len(side) for side, count in zip(sides, kind, strict=True)):
        return np.zeros(())
    total: np.ndarray = np.zeros(())
    lengths = [energies.shape[side[0]] if side else 1 for side in sides]
    orders = [_orders(count, length) for count, length in zip(kind, lengths, strict=True)]
    many, starts = prod(map(len, orders)), np.cumsum([0, *kind])
    for chosen in product(*(combinations(side, count) for side, count in zip(sides, kind, strict=True))):
        touched = [t for side in chosen for t in side]
        part = energies[tuple(slice(1, None) if t in touched else 0 for t in range(len(axes)))]
        part = part.transpose(np.argsort(np.argsort(touched)))  # from rising axes to the order of groups
        for shuffled in product(*orders):
            order = [int(starts[g]) + i for g, one in enumerate(shuffled) for i in one]
            total = total + part.transpose(order) / many
    return total / prod(comb(len(group), count) for group, count in zip(groups, kind, strict=True))


def _orders(count: int, length: int) -> list[tuple[int, ...]]:
    """Return the permutations of `count` axes of one length; only one of them if the length is 2.

    An axis of length 2 has a single frequency, so that permuting such axes changes nothing.
    """
    return list(permutations(range(count)) if length > 2 else [tuple(range(count))])


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class TableSampling(Randomiser):
    """A mechanism that draws a table at random and reports the user's cell of it by subset selection.

    Permutations of the values of an attribute do not change it. So the information matrix M has one
    eigenvalue for each type l of characters, with e_t the eigenvalue of the oracle of table t:

        m_l = sum_t share_t prod_g C(t_g, l_g)/C(|g|, l_g) e_t.

    Its accuracy and epsilon are known, but it has too many reports for a client: see `JuntaStrategy`.
    """

    by_table: ClassVar = True
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
