"""Tables of a trusted curator: data cubes, and hierarchies over several ordered attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod

import numpy as np

from stratagem.central.hierarchy import Tree, check_queries
from stratagem.math.block_design import covering_tables
from stratagem.math.number import integer
from stratagem.published.baseline import NEEDED, Setting
from stratagem.published.fourier import table_cells
from stratagem.published.hierarchical import level_widths

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
