"""Tables of a trusted curator: data cubes, and hierarchies over one or several ordered attributes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod
from typing import final

import numpy as np
from scipy.optimize import minimize, root_scalar

from stratagem.math.block_design import covering_tables
from stratagem.math.number import entries, integer
from stratagem.published.baseline import NEEDED, Setting
from stratagem.published.fourier import table_cells
from stratagem.published.hierarchical import level_widths
from stratagem.workloads.workload import MATRIX_LIMIT

BRANCHINGS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32, 48, 64)
"""Branchings that are tried."""
ROUNDS = 60
"""Largest number of descent steps from each start of the search for budgets."""


class Tree(ABC):
    """Nodes level by level, leaves first; the nodes of a level split the domain, so a person is in one of each."""

    branching: int

    @cached_property
    @abstractmethod
    def widths(self) -> list[int]:
        """Number of values along an attribute in a node of every level (h,), 1 for the leaves."""

    @cached_property
    @abstractmethod
    def levels(self) -> np.ndarray:
        """Level of every node (k,), 0 for the leaves."""

    @abstractmethod
    def queries(self) -> np.ndarray:
        """Return the nodes as queries K (k x n) of zeros and ones.

        Raises:
            ValueError: when K would hold more than 2^27 numbers.
        """

    @final
    def shares(self, budgets: np.ndarray) -> np.ndarray:
        """Return the share of every node (k,) from the budgets of the levels (h,), leaves first.

        Raises:
            ValueError: unless there is a nonnegative budget for each level and not all are zero.
        """
        w = np.asarray(budgets, dtype=float)
        if w.shape != (len(self.widths),) or (w < 0).any() or not 0 < w.sum() < math.inf:
            raise ValueError(f"budgets have shape {w.shape}: give each of {len(self.widths)} levels a part")
        return (w / w.sum())[self.levels]


def check_queries(nodes: int, domain_size: int) -> None:
    """Refuse a matrix of nodes that would be too large.

    Raises:
        ValueError: above 2^27 numbers.
    """
    entries(nodes * domain_size, MATRIX_LIMIT, "the nodes as queries", "use fewer values")


def best_budgets(tree: Tree, V: np.ndarray) -> np.ndarray:
    """Return budgets of the levels (h,), leaves first, that minimise the total variance of a workload.

    L-BFGS over the logarithms from even and tilted budgets; the leaves keep at least 1e-6 of the largest.
    """
    K, levels = tree.queries().astype(float), tree.levels
    blocks = np.stack([K[levels == level].T @ K[levels == level] for level in range(len(tree.widths))])
    scale = np.trace(V)

    def value(logs: np.ndarray) -> tuple[float, np.ndarray]:
        w = np.exp(logs - logs.max())
        inverted = np.linalg.inv(np.tensordot(w**2, blocks, 1))
        f, total = (inverted * V).sum() / scale, w.sum()
        slope = -2 * w**2 * np.tensordot(blocks, inverted @ V @ inverted, 2) / scale
        return math.log(f) + 2 * math.log(total), slope / f + 2 * w / total

    h = len(tree.widths)
    starts = [np.zeros(h), -np.arange(h) / 2.0, np.arange(h) / 2.0]
    starts += [np.where(np.arange(h) % k == 0, 0.0, -2.0) for k in (2, 3) if k < h]
    limits = [(-14.0, 0.0)] * h
    rounds = {"maxiter": ROUNDS}
    found = [
        minimize(value, start - start.max(), jac=True, method="L-BFGS-B", bounds=limits, options=rounds)
        for start in starts
    ]
    logs = min(found, key=lambda one: one.fun).x
    w = np.exp(logs - logs.max())
    return w / w.sum()


@dataclass(frozen=True)
class Hierarchy(Tree):
    """The B-ary tree over n values without its root: counts of 1, B, B^2, ... neighbouring values.

    The root is left out because the levels below add up to it. Any n: a level's last node may be short. One
    person changes one node a level, so that h levels cost h times the budget of one.

    Raises:
        ValueError: for a domain without values or a branching below 2.

    Reference:
        Qardaji, Yang, Li, "Understanding hierarchical methods for differentially private histograms", PVLDB 2013.
    """

    domain_size: int
    branching: int

    def __post_init__(self) -> None:
        """Check both numbers."""
        integer(self.domain_size, "the domain size", 1, 2**20, "give the number of values")
        integer(self.branching, "the branching", 2, 2**20, "give the children of a node")

    @cached_property
    def widths(self) -> list[int]:
        return level_widths(self.domain_size, self.branching)

    @cached_property
    def spans(self) -> np.ndarray:
        """First value and last value (k x 2) of every node, level by level, leaves first."""
        n = self.domain_size
        firsts = [np.arange(0, n, width) for width in self.widths]
        return np.vstack(
            [np.column_stack([a, np.minimum(a + w, n) - 1]) for a, w in zip(firsts, self.widths, strict=True)]
        )

    @cached_property
    def levels(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.widths)), [-(-self.domain_size // w) for w in self.widths])

    def queries(self) -> np.ndarray:
        check_queries(len(self.spans), self.domain_size)
        u, (first, last) = np.arange(self.domain_size), self.spans.T[:, :, None]
        return ((first <= u) & (u <= last)).astype(np.int64)


def published_variance(domain_size: int, branching: int) -> float:
    """Return ((B - 1) h^3 - 2 (B + 1) h^2/3) for h = ceil(log_B n): the average over ranges, in units 2/epsilon^2.

    Reference:
        Qardaji, Yang, Li, PVLDB 2013, equation 4: without inference and with equal budgets.
    """
    h, width = 1, branching
    while width < domain_size:
        h, width = h + 1, width * branching
    return (branching - 1) * h**3 - 2 * (branching + 1) * h**2 / 3


def published_branching(domain_size: int) -> int:
    """Return the branching B <= n, at least 2, with the least `published_variance`."""
    return min(range(2, max(3, domain_size + 1)), key=lambda b: published_variance(domain_size, b))


def limiting_branching() -> float:
    """Return the root 16.80 of B ln B = 3 B - 3: the best branching of a very large domain."""
    return root_scalar(lambda b: b * math.log(b) - 3 * b + 3, bracket=(2, 100)).root


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


def haar(domain_size: int) -> np.ndarray:
    """Return the total and the difference between the halves of every node of a binary tree (k x n).

    Rows are not scaled: their entries are 0, 1 and -1, and a person changes one row a level and the total,
    each by 1. A domain that is not a power of two is cut out of the next one; rows that are zero there are left out.

    Reference:
        Xiao, Wang, Gehrke, "Differential privacy via wavelet transforms", ICDE 2010 (Privelet).
    """
    size = 1 << (domain_size - 1).bit_length()
    widths = [size >> level for level in range(size.bit_length() - 1)]
    halves = [np.kron(np.eye(size // w), np.repeat([[1, -1]], w // 2, axis=1)) for w in widths]
    K = np.vstack([np.ones((1, size)), *halves])[:, :domain_size].astype(np.int64)
    return K[K.any(axis=1)]


def parities(attributes: int, sets: Iterable[tuple[int, ...]]) -> np.ndarray:
    """Return (-1)^(number of attributes of the set that are 1), a row a set, a column a cell of {0, 1}^d.

    Reference:
        Barak, Chaudhuri, Dwork, Kale, McSherry, Talwar, PODS 2007.
    """
    cells = np.arange(1 << attributes)
    bits = (cells[:, None] >> np.arange(attributes)[::-1]) & 1
    return np.array([1 - 2 * (bits[:, list(chosen)].sum(axis=1) % 2) for chosen in sets], dtype=np.int64)


MOST = 10
"""Largest number of attributes, since a step examines all pairs of attribute sets."""
BETTER = 1 - 1e-12
"""Factor by which a step must lower the variance at least."""
KNOWN = 0.5
"""Threshold on the information n/c_C of a table, which is at least 1 or zero."""


def cube_tables(
    setting: Setting, noise: Callable[[np.ndarray], np.ndarray] = np.square
) -> tuple[Attributes, ...]:
    """Return the attribute sets of a data cube to measure, together never worse than the tables asked for.

    Steps put a table in place of those inside it, add one or drop one, whichever lowers the total variance most,
    until none does: from the tables asked for, from the whole domain and from coverings of every size. With
    equal noise of variance noise(s) on s tables, tables C of c_C cells, the exact total of least squares is

        noise(s) sum_S tr(P_S V) / sum_(C holds S) n/c_C

    over the sets S of attributes, P_S the projection onto the functions of exactly the attributes S.

    Args:
        setting: At most 10 attributes, and the Gram matrix V of the workload.
        noise: Variance of an answer when s tables share the budget, up to a factor; that of Laplace noise grows
            with s^2.

    Raises:
        ValueError: for more attributes.

    Reference:
        Ding, Winslett, Han, Li, "Differentially private data cubes", SIGMOD 2011, who choose by the variance
        of the one best table; here all tables that know something count.

    Example:
        >>> import stratagem as st
        >>> W = st.marginals("a=10,b=10,c=2", 1)
        >>> cube_tables(Setting(W.domain.sizes, W.gram()))
        ((0,), (1, 2))
    """
    sizes, d = setting.sizes, len(setting.sizes)
    if d > MOST:
        raise ValueError(f"the domain has {d} attributes; data cubes are chosen among {MOST}: merge some")
    margins, whole = setting.margins, tuple(a for a in range(d) if sizes[a] > 1)
    largest = max(map(len, margins), default=0)
    if not largest:
        return margins
    starts = [margins, (whole,), *(covering_tables(d, margins, k) for k in range(largest + 1, d))]
    cube = _Cube(setting, noise)
    best = min((cube.descended(map(cube.code, start)) for start in starts), key=cube.variance)
    return tuple(sorted(tuple(a for a in range(d) if code >> (d - 1 - a) & 1) for code in best))


@dataclass(frozen=True, eq=False)
class _Cube:
    """Attribute sets of a domain, numbered with attribute 0 as the highest bit, and the variances of table choices."""

    setting: Setting
    noise: Callable[[np.ndarray], np.ndarray]

    @cached_property
    def needed(self) -> np.ndarray:
        """tr(P_S V) for every set S, zero where the queries do not need it."""
        energies = self.setting.energies.ravel()
        return np.where(energies > NEEDED * np.trace(self.setting.gram), energies, 0.0)

    @cached_property
    def inside(self) -> np.ndarray:
        """Whether set S (column) lies inside set C (row)."""
        codes = np.arange(len(self.needed))
        return codes & ~codes[:, None] == 0

    @cached_property
    def information(self) -> np.ndarray:
        """Information of table C (row) on functions of exactly the set S (column): n/c_C if S lies inside C, else 0."""
        cells = reduce(np.kron, (np.array([1, size]) for size in self.setting.sizes))
        return self.inside * (self.setting.domain_size / cells)[:, None]

    def code(self, attributes: Attributes) -> int:
        """Return the number of an attribute set."""
        return sum(len(self.needed) >> (a + 1) for a in attributes)

    def variance(self, tables: list[int]) -> float:
        """Return the total variance when these tables are measured with equal noise."""
        return float(self._variances(self.information[tables].sum(axis=0)[None], np.array([len(tables)]))[0])

    def descended(self, tables: Iterable[int]) -> list[int]:
        """Return the tables after greedy steps, each the one that lowers the total variance most."""
        now = list(tables)
        value = self.variance(now)
        while True:
            step, reached = self._best_step(now)
            if not reached < value * BETTER:
                return now
            now, value = step, reached

    def _best_step(self, now: list[int]) -> tuple[list[int], float]:
        information, absorbed = self.information[now].sum(axis=0), self.inside[:, now]
        put = information + self.information - absorbed.astype(float) @ self.information[now]
        dropped = information - self.information[now]
        counts = np.concatenate([len(now) + 1 - absorbed.sum(axis=1), np.full(len(now), len(now) - 1)])
        values = self._variances(np.vstack([put, dropped]), counts)
        values[0] = np.inf  # the total alone
        best = int(values.argmin())
        if best < len(self.information):
            step = [one for one, gone in zip(now, absorbed[best], strict=True) if not gone] + [best]
        else:
            step = [one for place, one in enumerate(now) if place != best - len(self.information)]
        return step, float(values[best])

    def _variances(self, information: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return the total variances (k,) from `information` (k x 2^d) and numbers of tables `counts` (k,)."""
        asked = self.needed > 0
        with np.errstate(divide="ignore"):
            shares = np.where(
                information[:, asked] > KNOWN, self.needed[asked] / information[:, asked], np.inf
            )
        return np.where(counts > 0, self.noise(np.maximum(counts, 1)) * shares.sum(axis=1), np.inf)


@dataclass(frozen=True)
class GridHierarchy(Tree):
    """The B^d-ary tree over d attributes without its root: boxes of B^l values along every attribute.

    Branching 2 over two attributes is the quadtree. Any sizes: a box at the end may be short, and an attribute
    of at most B^l values is not split on level l.

    Raises:
        ValueError: for no attributes, an attribute without values or a branching below 2.

    Reference:
        Cormode, Procopiuc, Srivastava, Shen, Yu, "Differentially private spatial decompositions", ICDE 2012;
        Qardaji, Yang, Li, PVLDB 2013, section 5.
    """

    sizes: tuple[int, ...]
    branching: int

    def __post_init__(self) -> None:
        """Check all numbers."""
        if not self.sizes:
            raise ValueError("no attributes were given: give the number of values of each")
        for size in self.sizes:
            integer(size, "the size of an attribute", 1, 2**20, "give its number of values")
        integer(self.branching, "the branching", 2, 2**20, "give the parts that an attribute splits into")

    @cached_property
    def widths(self) -> list[int]:
        return level_widths(max(self.sizes), self.branching)

    @cached_property
    def levels(self) -> np.ndarray:
        boxes = [prod(-(-size // width) for size in self.sizes) for width in self.widths]
        return np.repeat(np.arange(len(self.widths)), boxes)

    def queries(self) -> np.ndarray:
        check_queries(len(self.levels), prod(self.sizes))
        return np.vstack([reduce(np.kron, self._parts(width)) for width in self.widths])

    def _parts(self, width: int) -> list[np.ndarray]:
        """Return which values (rows: parts) each part of every attribute holds."""
        return [
            (np.arange(-(-size // width))[:, None] == np.arange(size) // width).astype(np.int64)
            for size in self.sizes
        ]
