"""The variance of every answer if all users had the least favourable type for it, by matrices and table by table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import singledispatch
from itertools import chain

import numpy as np

from stratagem.accuracy.accuracy import UnsupportedWorkloadError
from stratagem.accuracy.dense import supporting_inverse
from stratagem.accuracy.junta import check_sizes
from stratagem.accuracy.length import classes_of, largest_by_length, lengths_of
from stratagem.accuracy.orbit import SMALL, asked
from stratagem.accuracy.query import check_answered
from stratagem.accuracy.score import Labels, Scores, placements
from stratagem.accuracy.support import check_seen
from stratagem.accuracy.two_valued_scores import even_scores
from stratagem.math.on_demand import written_or_asked
from stratagem.strategies import LinearProtocol, Runnable, TranslationStrategy
from stratagem.strategies.strategy import Strategy, apply_inverse, inverse_row_sums
from stratagem.strategies.translation import DENSE
from stratagem.workloads import Workload
from stratagem.workloads.centring import levelled
from stratagem.workloads.combined import unweighted
from stratagem.workloads.identity import Identity
from stratagem.workloads.product import Product, translates
from stratagem.workloads.ranges import AllRange
from stratagem.workloads.selection import Ranges, Selection

WORK = 1 << 34
"""Largest number of multiplications spent on all queries: some seconds."""
QUICK = 1 << 32
"""Largest number of multiplications for which a strategy of translates is written out."""
BLOCK = 1 << 24
"""Entries of a temporary array."""


def largest_variances(workload: Workload, strategy: Runnable, prior: np.ndarray | None = None) -> np.ndarray:
    """Return max_u Var(w_i R e_y | u) (p,), the variance per user of each answer at its worst user type.

    For ranges of very many values it is an upper bound (`largest_by_length`); see `OnDemand` for very many queries.

    Var(w R e_y | u) = sum_y Q[y, u] (w R e_y)^2 - w_u^2 with R as in `evaluate`, of the prior (n,). Whatever the
    N users, no answer has more than N times this variance, and users of that one type reach it.

    Raises:
        UnsupportedWorkloadError: if the strategy cannot answer a query.
        ValueError: if the domains differ or the queries are too many to be looked at one by one.
    """
    return written_or_asked(
        workload.queries,
        lambda: _largest_of(strategy, workload, prior),
        lambda places: _largest_of(strategy, Selection(workload, places), prior),
        "the largest variances",
    )


def largest_variance(workload: Workload, strategy: Runnable, prior: np.ndarray | None = None) -> float | None:
    """Return the largest entry of `largest_variances`, or None if there are too many queries for that.

    Under translates one query of every kind is looked at.
    """
    try:
        if isinstance(strategy, TranslationStrategy):
            workload, strategy = asked(workload, strategy)
            found = _by_matrix(workload, strategy, prior)
            return _largest_of_kinds(workload, strategy) if found is None else float(found.max())
        return float(_largest_of(strategy, workload, prior).max())
    except UnsupportedWorkloadError:
        raise
    except ValueError:
        return None


def _written_out(workload: Workload, strategy: TranslationStrategy) -> bool:
    """Return whether the matrix is written out: if it is cheap; on windows, if its estimator is in use."""
    if strategy.window:
        histogram = isinstance(workload, Identity) and len(strategy.sizes) == 1
        return strategy.domain_size <= SMALL and not histogram
    entries = strategy.outputs * strategy.domain_size
    return entries <= DENSE and entries * workload.queries <= QUICK


@singledispatch
def _largest_of(strategy: Strategy, workload: Workload, prior: np.ndarray | None) -> np.ndarray:
    p, n, m = workload.queries, workload.domain_size, strategy.outputs
    _check_work(workload, p * n * m)
    inverse = supporting_inverse(workload, strategy, prior)
    scale, W = inverse_row_sums(strategy, prior)[:, None], levelled(workload, prior).matrix()
    largest, step = np.empty(p), max(1, BLOCK // max(m, n))
    for first in range(0, p, step):
        rows = W[first : first + step].T
        answers = scale * strategy.forward(apply_inverse(inverse, rows, prior))
        variances = strategy.backward(np.square(answers)) - np.square(rows)
        largest[first : first + step] = variances.max(axis=0)
    return np.maximum(largest, 0.0)


@_largest_of.register
def _(strategy: TranslationStrategy, workload: Workload, prior: np.ndarray | None) -> np.ndarray:
    workload, strategy = asked(workload, strategy)
    found = _by_matrix(workload, strategy, prior)
    return largest_by_table(workload, strategy) if found is None else found


def _by_matrix(
    workload: Workload, strategy: TranslationStrategy, prior: np.ndarray | None
) -> np.ndarray | None:
    """Return the largest variances (p,) by the matrix of the strategy, None where it is not written out."""
    if prior is None and not _written_out(workload, strategy):
        return None
    try:
        return _largest_of(strategy.dense(), workload, prior)
    except UnsupportedWorkloadError:
        # a matrix loses what the characters hold of queries that others outweigh: then they answer
        if prior is not None or strategy.window:
            raise
    return None


@_largest_of.register
def _(protocol: LinearProtocol, workload: Workload, prior: np.ndarray | None) -> np.ndarray:
    check_seen(workload, protocol)
    _check_work(workload, workload.queries * workload.domain_size**3)
    moments = (protocol.second_moments(np.outer(w, w)) - np.square(w) for w in workload.matrix())
    return np.array([max(0.0, float(one.max())) for one in moments])


def _check_work(workload: Workload, products: int) -> None:
    if products > WORK:
        raise ValueError(
            f"the variances of {workload.queries} queries over {workload.domain_size} user types were asked for one "
            "by one, which takes too long: ask for fewer queries, or use evaluate for their sum"
        )


DIRECT = 512
"""Largest number of cells of a table for which matrices of all translates are formed."""
ENTRIES = 1 << 20
"""Largest number of queries of a table times its cells."""
PLACEMENTS = 1 << 12
"""Largest number of ways in which a pattern may lie on a table."""


def largest_by_table(workload: Workload, strategy: TranslationStrategy) -> np.ndarray:
    """Return max_u Var(w_i R e_y | u) (p,) under translates whose information matrix has the characters.

    A report that covers the attributes C of a table of some cells gives its query w the answer
    a(g) = sum_c w(c) K(c_C - g)/cells, K as in `Scores`, and comes from u with the chance x_C(u_C - g): two
    convolutions give sum_g x_C(u_C - g) a(g)^2 for all u. The mean over reports less w(u)^2 is the variance.

    Raises:
        ValueError: if the domains differ, for windows of longer cycles, or tables that are too large.
    """
    tables = _Tables(workload, strategy)
    largest = np.empty(workload.queries)
    for margin in workload.margins():
        weight, queries = unweighted(margin.workload)
        largest[margin.places] = weight**2 * tables.largest(margin.attributes, queries)[_classes(queries)]
    return np.maximum(largest, 0.0)


def _largest_of_kinds(workload: Workload, strategy: TranslationStrategy) -> float:
    """Return the largest entry of `largest_by_table` from one table of every kind.

    Raises:
        ValueError: as `largest_by_table`.
    """
    tables, largest = _Tables(workload, strategy), 0.0
    for attributes, weighted in workload.kinds(tables.group):
        weight, queries = unweighted(weighted)
        largest = max(largest, weight**2 * float(tables.largest(attributes, queries).max()))
    return largest


class _Tables:
    """The largest variances of the queries of tables, by what they depend on."""

    def __init__(self, workload: Workload, strategy: TranslationStrategy) -> None:
        """Check that the strategy answers the workload by its characters, and in few ways.

        Raises:
            UnsupportedWorkloadError: for queries that it does not answer.
            ValueError: as `largest_by_table`.
        """
        check_sizes(workload, strategy)
        self.group = [strategy.owner[i] for i in range(len(strategy.sizes))]
        if not strategy.window:
            check_answered(workload, strategy)
        self.strategy, self.moments = strategy, _Moments(strategy)
        self._cells: dict[Labels, float] = {}

    def largest(self, attributes: tuple[int, ...], queries: Workload) -> np.ndarray:
        """Return the largest variances (k,) of the queries of a table, one for each of their `_classes`.

        Raises:
            ValueError: for a table that is too large, or on which patterns lie in too many ways; in a window, for
                other queries than cells and ranges of one attribute.
        """
        if self.strategy.window and not (
            isinstance(queries, Identity | AllRange | Ranges) and len(self.strategy.sizes) == 1
        ):
            raise ValueError(
                "the domain is a window of longer cycles, where the variance of every query is known for histograms "
                "and ranges alone: use evaluate for their sum"
            )
        labels = tuple(self.group[i] for i in attributes)
        _check_ways(self.moments, labels)
        if (lengths := lengths_of(queries)) is not None:
            return largest_by_length(self.strategy, attributes[0], lengths)
        if isinstance(queries, Identity):
            if labels not in self._cells:
                self._cells[labels] = _largest_of_cell(self.moments, labels, queries.domain.sizes)
            return np.array([self._cells[labels]])
        rows = _rows(queries)
        return _variances(self.moments, labels, rows).reshape(len(rows), -1).max(axis=1)


def _check_ways(moments: _Moments, labels: Labels) -> None:
    for axes in moments.kinds:
        if math.prod(1 + axes.count(group) for group in labels) > PLACEMENTS:
            raise ValueError(
                f"patterns of {len(axes)} axes lie on a table of {len(labels)} attributes in too many ways for the "
                "variance of every query: use evaluate for their sum"
            )


def _factors(queries: Workload) -> tuple[Workload, ...]:
    return queries.factors if isinstance(queries, Product) else (queries,)


def _classes(queries: Workload) -> np.ndarray:
    """Return for every query of a table (p,) the number of the query of `_rows` that stands for it."""
    places = np.zeros(1, dtype=int)
    for one in _factors(queries):
        own = np.zeros(one.queries, dtype=int) if isinstance(one, Identity) else classes_of(one)
        places = np.add.outer(places * (1 + own.max()), own).ravel()
    return places


def _rows(queries: Workload) -> np.ndarray:
    """Return a query of a table for each class with the same largest variance (k, sizes of the attributes).

    One cell of an attribute whose cells are asked for one by one, and one range of every length, stand for the others:
    translations of the attribute take it to them and leave the strategy as it is.
    """
    lengths = [lengths_of(one) for one in _factors(queries)]
    many = math.prod(
        1 if isinstance(one, Identity) else one.queries if own is None else len(own)
        for one, own in zip(_factors(queries), lengths, strict=True)
    )
    if many * queries.domain_size > ENTRIES:
        raise ValueError(
            f"a table of {queries.domain_size} cells and {queries.queries} queries is too large for the variance of "
            "every query: use evaluate for their sum"
        )
    rows = np.ones((1, 1))
    for one, own in zip(_factors(queries), lengths, strict=True):
        if isinstance(one, Identity):
            rows = np.kron(rows, np.eye(1, one.domain_size))
        else:
            inner = one.matrix() if own is None else (np.arange(one.domain_size) < own[:, None]).astype(float)
            rows = np.kron(rows, inner)
    return rows.reshape(len(rows), *queries.domain.sizes)


def _largest_of_cell(moments: _Moments, labels: Labels, sizes: tuple[int, ...]) -> float:
    """Return the largest variance of a cell of a table, computed for the first cell of the cycles."""
    if even := even_scores(moments.strategy):
        own, other = even.second_moments
        return max(own - 1, other)
    cell = np.zeros((1, *moments.scores.sizes(labels)))
    cell.flat[0] = 1.0
    found = _variances(moments, labels, cell)[0]
    for axis, (size, cycle) in enumerate(zip(sizes, found.shape, strict=True)):
        apart = np.arange(cycle)
        found = found.compress((apart < size) | (apart > cycle - size), axis)
    return float(found.max())


def _variances(moments: _Moments, labels: Labels, rows: np.ndarray) -> np.ndarray:
    """Return the variance of each of k queries (k, sizes) of a table for a user in each cell, (k, sizes)."""
    second, cells = np.zeros_like(rows), math.prod(rows.shape[1:])
    for axes in moments.kinds:
        for slots, chance in placements(moments.strategy, axes, labels):
            order = tuple(t for t in slots if t >= 0)
            away = tuple(i for i, t in enumerate(slots, 1) if t < 0)
            part = moments.second(axes, order, rows.sum(axis=away))
            shape = [size if t >= 0 else 1 for t, size in zip(slots, rows.shape[1:], strict=True)]
            second += chance / cells**2 * part.reshape(len(rows), *shape)
    return second - np.square(rows)


class _Moments:
    """The sums sum_b w_b sum_g x_C(u_C - g) a_b(g)^2 over the patterns b of the same axes, for all u_C."""

    def __init__(self, strategy: TranslationStrategy) -> None:
        """Group the patterns of positive weight by their axes."""
        self.strategy, self.scores = strategy, Scores(strategy)
        self.kinds: dict[tuple[int, ...], list[int]] = {}
        for b in np.flatnonzero(strategy.weights):
            self.kinds.setdefault(strategy.patterns[b].axes, []).append(int(b))
        self._known: dict[tuple[tuple[int, ...], tuple[int, ...], bytes], np.ndarray] = {}

    def second(self, axes: tuple[int, ...], order: tuple[int, ...], rows: np.ndarray) -> np.ndarray:
        """Return the sums (k, sizes) for queries (k, sizes) of the table that the axes in this order cover."""
        if len(rows) > 1:
            return self._second(axes, order, rows)
        key = (axes, order, rows.tobytes())  # the first cell comes again in every table of these axes
        if key not in self._known:
            self._known[key] = self._second(axes, order, rows)
        return self._known[key]

    def _second(self, axes: tuple[int, ...], order: tuple[int, ...], rows: np.ndarray) -> np.ndarray:
        along, labels = tuple(range(1, rows.ndim)), tuple(axes[t] for t in order)
        if len(rows) > 1 and math.prod(rows.shape[1:]) <= DIRECT:
            return self._by_products(axes, order, rows)
        asked, total = np.fft.fftn(rows, axes=along), np.zeros_like(rows)
        for weight, transform in self._transforms(axes):
            K = np.fft.fftn(self.scores.density(transform, order, labels))
            answers = np.fft.ifftn(asked * np.conj(K), axes=along).real
            chances = transform[tuple(slice(None) if t in order else 0 for t in range(transform.ndim))]
            chances = chances.transpose(np.argsort(np.argsort(order)))
            squares = np.fft.fftn(np.square(answers), axes=along)
            total += weight * np.fft.ifftn(squares * chances, axes=along).real
        return total

    def _transforms(self, axes: tuple[int, ...]) -> Iterator[tuple[float, np.ndarray]]:
        """Yield the probability and the transform of every multiple of every pattern of these axes."""
        return chain.from_iterable(map(self.scores.transforms, self.kinds[axes]))

    def _by_products(self, axes: tuple[int, ...], order: tuple[int, ...], rows: np.ndarray) -> np.ndarray:
        """Return the sums of `second` by matrix products, which are faster for many queries of few cells."""
        flat, sizes = rows.reshape(len(rows), -1), rows.shape[1:]
        total, labels = np.zeros_like(flat), tuple(axes[t] for t in order)
        for weight, transform in self._transforms(axes):
            answers = flat @ translates(self.scores.density(transform, order, labels).ravel(), sizes)
            chances = transform[tuple(slice(None) if t in order else 0 for t in range(transform.ndim))]
            x = np.fft.ifftn(chances.transpose(np.argsort(np.argsort(order)))).real
            total += weight * np.square(answers) @ translates(x.ravel(), sizes).T
        return total.reshape(rows.shape)
