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
from stratagem.accuracy.orbit import SMALL, asked
from stratagem.accuracy.query import check_answered
from stratagem.accuracy.score import Labels, Scores, placements
from stratagem.accuracy.support import check_seen
from stratagem.accuracy.two_valued_scores import even_scores
from stratagem.strategies import LinearProtocol, Runnable, TranslationStrategy
from stratagem.strategies.strategy import Strategy, apply_inverse, inverse_row_sums
from stratagem.strategies.translation import DENSE
from stratagem.workloads import Workload
from stratagem.workloads.centring import levelled
from stratagem.workloads.combined import unweighted
from stratagem.workloads.identity import Identity
from stratagem.workloads.product import Product, translates

WORK = 1 << 34
"""Largest number of multiplications spent on all queries: some seconds."""
QUICK = 1 << 32
"""Largest number of multiplications for which a strategy of translates is written out."""
BLOCK = 1 << 24
"""Entries of a temporary array."""


def largest_variances(workload: Workload, strategy: Runnable, prior: np.ndarray | None = None) -> np.ndarray:
    """Return max_u Var(w_i R e_y | u) (p,), the variance per user of each answer at its worst user type.

    Var(w R e_y | u) = sum_y Q[y, u] (w R e_y)^2 - w_u^2 with R as in `evaluate`, of the prior (n,). Whatever the
    N users, no answer has more than N times this variance, and users of that one type reach it.

    Raises:
        UnsupportedWorkloadError: if the strategy cannot answer a query.
        ValueError: if the domains differ or the queries are too many to be looked at one by one.
    """
    return _largest_of(strategy, workload, prior)


def largest_variance(workload: Workload, strategy: Runnable, prior: np.ndarray | None = None) -> float | None:
    """Return the largest entry of `largest_variances`, or None if there are too many queries for that."""
    try:
        return float(largest_variances(workload, strategy, prior).max())
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
    if prior is not None or _written_out(workload, strategy):
        # a matrix loses what the characters hold of queries that others outweigh: then they answer
        try:
            return _largest_of(strategy.dense(), workload, prior)
        except UnsupportedWorkloadError:
            if prior is not None or strategy.window:
                raise
    if not strategy.window:
        check_answered(workload, strategy)
    return largest_by_table(workload, strategy)


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
    check_sizes(workload, strategy)
    window = strategy.window
    if window and not (isinstance(unweighted(workload)[1], Identity) and len(strategy.sizes) == 1):
        raise ValueError(
            "the domain is a window of longer cycles, where the variance of every query is known for histograms "
            "alone: use evaluate for their sum"
        )
    moments, known = _Moments(strategy), dict[Labels, float]()
    placed = [(tuple(strategy.owner[i] for i in margin.attributes), margin) for margin in workload.margins()]
    for labels in {labels for labels, _ in placed}:
        _check_ways(moments, labels)
    largest = np.empty(workload.queries)
    for labels, margin in placed:
        weight, queries = unweighted(margin.workload)
        if not isinstance(queries, Identity):
            shape, rows = _rows(queries)
            found = _variances(moments, labels, rows).reshape(len(rows), -1).max(axis=1)
            largest[margin.places] = weight**2 * _repeated(found, shape, queries)
            continue
        if labels not in known:
            known[labels] = _largest_of_cell(moments, labels, queries.domain.sizes)
        largest[margin.places] = weight**2 * known[labels]
    return np.maximum(largest, 0.0)


def _check_ways(moments: _Moments, labels: Labels) -> None:
    for axes in moments.kinds:
        if math.prod(1 + axes.count(group) for group in labels) > PLACEMENTS:
            raise ValueError(
                f"patterns of {len(axes)} axes lie on a table of {len(labels)} attributes in too many ways for the "
                "variance of every query: use evaluate for their sum"
            )


def _rows(queries: Workload) -> tuple[tuple[int, ...], np.ndarray]:
    """Return one query of a table for each class with the same largest variance.

    These are their numbers in each factor of a product, and the queries (k, sizes of the attributes).

    One cell of an attribute whose cells are asked for one by one stands for the others: translations of the
    attribute take it to them and leave the strategy as it is.
    """
    factors = queries.factors if isinstance(queries, Product) else (queries,)
    shape = tuple(1 if isinstance(one, Identity) else one.queries for one in factors)
    if math.prod(shape) * queries.domain_size > ENTRIES:
        raise ValueError(
            f"a table of {queries.domain_size} cells and {queries.queries} queries is too large for the variance of "
            "every query: use evaluate for their sum"
        )
    rows = np.ones((1, 1))
    for one in factors:
        rows = np.kron(rows, np.eye(1, one.domain_size) if isinstance(one, Identity) else one.matrix())
    return shape, rows.reshape(len(rows), *queries.domain.sizes)


def _repeated(found: np.ndarray, shape: tuple[int, ...], queries: Workload) -> np.ndarray:
    """Return the values (p,) of all queries of a table from the values of the queries of `_rows`."""
    factors = queries.factors if isinstance(queries, Product) else (queries,)
    return np.broadcast_to(found.reshape(shape), [one.queries for one in factors]).ravel()


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
