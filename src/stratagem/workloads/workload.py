"""What every workload of linear queries can do, without its matrix ever being built."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stratagem.domain.domain import Domain
from stratagem.math.number import count_text, entries, integer
from stratagem.math.vector import written_or_asked
from stratagem.workloads.query import Query
from stratagem.workloads.structure import Structure

Array = NDArray[np.float64]

MATRIX_LIMIT = 2**27  # 1 GiB of float64
GRAM_LIMIT = 2**29  # 4 GiB: n up to 23,170
ANSWER_LIMIT = 2**30
TABLE_LIMIT = 2**27
COUNTED = 2**53
OPERATIONS: dict[str, Callable[..., Workload]] = {}
"""What + and * stand for, by name; given by the room's `__init__`, as what they make builds on this file."""


class Workload(ABC):
    """A matrix W of p linear queries over the n cells of a domain, known by what it does.

    Optimisation needs only the Gram matrix V = W^T W. A leaf sets `domain` and fills in the
    abstract members; its hooks `_answer` and `_adjoint` always get a two-dimensional array.

    Reference: McKenna, Maity, Mazumdar, Miklau, VLDB 2020, section 3.
    """

    domain: Domain
    of_all: Any = False
    """Whether the one query is the total, which counts everybody."""
    given: Any = None
    """The queries (p, n) where they were given as rows of a matrix; None for others."""
    __array_ufunc__ = None  # NumPy's numbers and arrays leave + and * to the workload

    @property
    def in_order(self) -> bool:
        """Whether its queries follow the order of the values of an attribute, as prefixes and ranges do."""
        return False

    @property
    def cumulative(self) -> bool:
        """Whether the queries are the prefixes of one attribute: those at or below each value, in order."""
        return False

    @property
    def cells(self) -> np.ndarray | slice | None:
        """The cells of the domain that the queries count, one a query (p,); None where they count others."""
        return None

    @property
    def by_cell(self) -> bool:
        """Whether the queries are all cells of the domain in order: W = I."""
        return False

    @property
    def whole_table(self) -> bool:
        """Whether the queries are those of one table of all attributes, however weighted."""
        return self.by_cell

    @property
    def by_rows(self) -> bool:
        """Whether rows of a matrix, which may be of any sizes, are among the queries."""
        return False

    @property
    def tells_entries(self) -> bool:
        """Whether `describe` tells the entries of every query."""
        return True

    @property
    def range_lengths(self) -> np.ndarray | None:
        """The different lengths (k,), rising, of queries that are ranges of one attribute; None for others."""
        return None

    @property
    def range_classes(self) -> np.ndarray:
        """For every query (p,) the place of its length among `range_lengths`; without lengths its own number."""
        return np.arange(self.queries)

    @property
    def unweighted(self) -> tuple[float, Workload]:
        """The product of all weights around the queries, and the workload inside them."""
        return 1.0, self

    @property
    def unpadded(self) -> Workload:
        """The queries about the values that have an order; other queries as they are."""
        return self

    @property
    def unmerged(self) -> Workload:
        """The queries about the cells of several attributes, in place of those about the same cells as one."""
        return self

    def split(self) -> tuple[Workload, ...]:
        """Return the workloads that are asked one after the other, weighted; none where it is a single one."""
        return ()

    def factored(self) -> tuple[Workload, ...]:
        """Return the factors of nested Kronecker products, the first with all weights."""
        return (self,)

    @property
    @abstractmethod
    def queries(self) -> int:
        """The number p of queries, the rows of W."""

    @property
    @abstractmethod
    def frobenius_squared(self) -> float:
        """The squared Frobenius norm ||W||_F^2 = tr V."""

    @property
    @abstractmethod
    def structure(self) -> Structure:
        """What is known of the symmetry, the eigenvalues and the norms of W without its matrix."""

    def margins(self) -> Iterator[Margin]:
        """Yield the queries by the sets of attributes that they touch; together they are all queries, each once.

        By default all are asked of all attributes together.
        """
        yield Margin(tuple(range(len(self.domain.sizes))), self, slice(0, self.queries))

    def kinds(self, group: Sequence[int]) -> Iterator[tuple[tuple[int, ...], Workload]]:
        """Yield the attributes and the queries of some margins, one at least of every kind.

        Exchanging attributes of the same size and the same `group` (d,) takes a margin to the others of its kind.
        """
        for margin in self.margins():
            yield margin.attributes, margin.workload

    @abstractmethod
    def _gram(self) -> Array: ...

    @abstractmethod
    def _describe(self, query: int) -> Query:
        """Return what query number 0..p-1 asks, without a list of all."""

    @abstractmethod
    def _answer(self, x: Array) -> Array:
        """Map an array of shape (n, k) to W x of shape (p, k)."""

    @abstractmethod
    def _adjoint(self, y: Array) -> Array:
        """Map an array of shape (p, k) to W^T y of shape (n, k)."""

    @final
    def __add__(self, other: Workload | ArrayLike) -> Workload:
        """Ask the queries of both, as `stack` does.

        >>> import stratagem as st
        >>> (st.prefix(8) + 2 * st.total(8)).shape
        (9, 8)
        """
        return OPERATIONS["stack"]([self, other])

    @final
    def __radd__(self, other: ArrayLike) -> Workload:
        return OPERATIONS["stack"]([other, self])

    @final
    def __mul__(self, weight: float) -> Workload:
        """Multiply every query by a weight, as `weighted` does."""
        return OPERATIONS["weighted"](self, weight)

    __rmul__ = __mul__

    @final
    @property
    def shape(self) -> tuple[int, int]:
        """Shape (p, n) of the matrix W: the queries and the user types."""
        return self.queries, self.domain_size

    @final
    @property
    def domain_size(self) -> int:
        """The number n of cells, the columns of W."""
        return self.domain.size

    @final
    @property
    def symmetry(self) -> tuple[int, ...] | None:
        """Sizes of the cyclic groups whose translations leave V unchanged, as in `Structure`; None if not known."""
        return self.structure.symmetry

    @final
    @property
    def counted(self) -> bool:
        """Whether the domain has at most 2^53 cells, so that its size is exact in float64.

        L(Q) and its bounds are stated per user type, L/n, where it has more.
        """
        return self.domain_size <= COUNTED

    @final
    @property
    def scale(self) -> float:
        """Factor for quantities per user type: n, or 1 where the domain is not `counted`."""
        return float(self.domain_size) if self.counted else 1.0

    @final
    @property
    def mean_square(self) -> float:
        """tr V/n, the squared length of a column of W, averaged over the user types; finite at any n."""
        spectrum = None if self.counted else self.structure.spectrum
        if spectrum is None:
            return self.frobenius_squared / self.domain_size
        return float(spectrum.multiplicities @ spectrum.values)

    @final
    def describe(self, query: int) -> Query:
        """Return what one query asks of each attribute; nothing is as large as the workload.

        Raises:
            ValueError: unless the query is a whole number from 0 to p - 1.
        """
        advice = "give the number of a query"
        return self._describe(integer(query, "the query", 0, self.queries - 1, advice))

    @final
    def gram(self) -> Array:
        """Return the Gram matrix V = W^T W, shape (n, n), float64.

        Raises:
            ValueError: when V would hold more than 2^29 numbers.
        """
        advice = "use symmetry, answer and adjoint instead, or a smaller domain"
        entries(self.domain_size**2, GRAM_LIMIT, "the Gram matrix", advice)
        return self._gram()

    @final
    def answer(self, x: ArrayLike) -> Array:
        """Return the answers W x: shape (n,) gives (p,), shape (n, k) gives (p, k).

        Raises:
            ValueError: when x has another shape, is not real, or the answers exceed 2^30 numbers.
        """
        columns, shape = _columns(x, self.domain_size, "the data", f"cell of domain {self.domain}")
        advice = "use a workload with fewer queries, or its Gram matrix"
        entries(self.queries * columns.shape[1], ANSWER_LIMIT, "the answers", advice)
        return self._answer(columns).reshape(self.queries, *shape)

    @final
    def answer_users(self, users: ArrayLike) -> Array:
        """Return the true answers (p,) about users given one by one, (N, d): one value an attribute.

        No array has the size of the domain, so that the domain may have any size; answers to more than 2^24 queries
        are computed where they are asked for (`OnDemand`).

        Raises:
            ValueError: for anything but whole numbers from 0 to size - 1 of every attribute, or for tables of more
                than 2^27 cells.
        """
        columns = _users(users, self.domain)
        return written_or_asked(
            self.queries,
            lambda: self._answer_users(columns),
            lambda places: np.array(
                [self.describe(int(i)).answer(columns, self.domain.sizes) for i in places]
            ),
            "the answers",
        )

    def _answer_users(self, columns: NDArray[np.integer]) -> Array:
        """Return the true answers (p,) from the values of users, one attribute a row (d, N)."""
        answers = np.empty(self.queries)
        for margin in self.margins():
            part = margin.workload
            entries(part.domain_size, TABLE_LIMIT, "a table of users", "use queries of fewer attributes")
            cells = np.zeros(columns.shape[1], np.min_scalar_type(part.domain_size))
            for attribute, size in zip(margin.attributes, part.domain.sizes, strict=True):
                cells = cells * size + columns[attribute]
            answers[margin.places] = part.answer(
                np.bincount(cells.astype(np.intp), minlength=part.domain_size)
            )
        return answers

    @final
    def adjoint(self, y: ArrayLike) -> Array:
        """Return W^T y: shape (p,) gives (n,), shape (p, k) gives (n, k).

        Raises:
            ValueError: when y has another shape, is not real, or the result exceeds 2^30 numbers.
        """
        columns, shape = _columns(y, self.queries, "the answers", "query of the workload")
        entries(self.domain_size * columns.shape[1], ANSWER_LIMIT, "the result", "use a smaller domain")
        return self._adjoint(columns).reshape(self.domain_size, *shape)

    @final
    def matrix(self) -> Array:
        """Return W itself, shape (p, n), for small workloads.

        Raises:
            ValueError: when W would hold more than 2^27 numbers.
        """
        n = self.domain_size
        advice = "use gram, answer and adjoint instead"
        entries(max(self.queries, n) * n, MATRIX_LIMIT, "the workload matrix", advice)
        return self.answer(np.eye(n))


def _columns(values: ArrayLike, rows: int, what: str, unit: str) -> tuple[Array, tuple[int, ...]]:
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or array.ndim not in (1, 2) or array.shape[0] != rows:
        raise ValueError(
            f"{what} were given as {array.dtype} of shape {array.shape}, but must be real numbers of shape "
            f"({count_text(rows)},) or ({count_text(rows)}, k): give one number a {unit}"
        )
    columns = array[:, None] if array.ndim == 1 else array
    return columns.astype(np.float64), array.shape[1:]


def _users(users: ArrayLike, domain: Domain) -> NDArray[np.integer]:
    """Return the values of each attribute in a row of their own (d, N), in as few bytes as hold them."""
    given, sizes = np.asarray(users), np.array(domain.sizes)
    shaped = given.dtype.kind in "iub" and given.ndim == 2 and given.shape[1] == len(sizes)
    if not shaped or not ((given >= 0) & (given < sizes)).all():
        raise ValueError(
            f"users were given as {given.dtype} of shape {given.shape}, but must be whole numbers, one value from "
            f"0 to size - 1 for each of {len(sizes)} attributes: give an array (users, attributes)"
        )
    return given.T.astype(np.min_scalar_type(int(sizes.max()) - 1), order="C")


@dataclass(frozen=True, eq=False)
class Margin:
    """Some queries of a workload, asked of the table of a few attributes with all others summed out.

    A workload is the union of its margins: answers[places] = workload.answer(table), for each of them.
    """

    attributes: tuple[int, ...]
    """Places of the attributes in the domain, rising; at least one."""
    workload: Workload
    """The queries, over a domain of these attributes."""
    places: np.ndarray | slice
    """Numbers of these queries among all queries of the workload, shape (p',)."""
