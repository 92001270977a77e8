"""Ranges and prefixes inside tables of a few attributes: the same numbers as by matrices, on domains of any size."""

from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest

import stratagem as st
from stratagem.accuracy import largest_variances, query_variances
from stratagem.accuracy.dense import dense_accuracy, per_query_variance
from stratagem.bounds.blocks import block_norms
from stratagem.prior import uniform
from stratagem.strategies import JuntaStrategy, Pattern
from stratagem.workloads.harmonics import harmonics

RNG = np.random.default_rng(0)


def on(domain, **kinds):
    """Return the product of what is asked of each attribute, the total of the others."""
    return st.kron([kinds.get(name, st.total)({name: size}) for name, size in domain.items()])


SMALL = {"a": 6, "b": 2, "c": 3}
FOUR = {"a": 4, "b": 2, "c": 2, "d": 3}
ROWS = st.explicit(np.random.default_rng(5).normal(size=(3, 12)), {"a": 6, "b": 2})
CASES = {
    "ranges by b": st.stack([on(SMALL, a=st.all_range, b=st.histogram), st.marginals(SMALL, 2)]),
    "weighted": st.weighted(
        st.stack([on(SMALL, a=st.prefix, c=st.histogram), st.weighted(st.marginals(SMALL, 1), 3.0)]), 0.5
    ),
    "two orders": st.stack(
        [
            on(SMALL, a=st.prefix, b=st.histogram),
            on(SMALL, a=st.histogram, c=st.prefix),
            on(SMALL, a=st.all_range, c=st.prefix),
        ]
    ),
    "rows on two": st.stack([st.kron([ROWS, st.histogram({"c": 3})]), st.marginals(SMALL, 2)]),
    "alike": st.stack(
        [on(FOUR, a=st.all_range), st.marginals(FOUR, 2), on(FOUR, a=st.prefix, d=st.histogram)]
    ),
    "without tables": on(SMALL, a=st.prefix, b=st.histogram),
}
WORKLOADS = pytest.mark.parametrize("workload", CASES.values(), ids=CASES.keys())


def mixture(sizes, groups, seed):
    """Return juntas of three random patterns on every set of one to three attributes of different groups."""
    rng, places, patterns = np.random.default_rng(seed), range(len(groups)), []
    for many in (1, 2, 3):
        for axes in combinations_with_replacement(places, many):
            if any(axes.count(g) > len(groups[g]) for g in axes):
                continue
            for _ in range(3):
                inside = rng.random([sizes[groups[g][0]] for g in axes]) < 0.4
                inside.flat[0], inside.flat[-1] = True, False
                patterns.append(Pattern.of(axes, inside))
    weights = rng.random(len(patterns))
    return JuntaStrategy(sizes, groups, tuple(patterns), weights / weights.sum(), np.e)


def strategies(workload):
    """Return a strategy of attributes one by one, and one that cannot tell two of them apart, where there are."""
    sizes = workload.domain.sizes
    alone = tuple((i,) for i in range(len(sizes)))
    yield mixture(sizes, alone, 1)
    if len(sizes) == 4:
        yield mixture(sizes, ((0,), (1, 2), (3,)), 2)


@WORKLOADS
def test_eigenvalues_are_those_of_the_average_over_translations(workload):
    found, sizes = harmonics(workload), workload.domain.sizes
    whole = workload.translation_spectrum() / workload.domain_size
    for many in range(len(sizes) + 1):
        for touched in combinations(range(len(sizes)), many):
            expected = whole[tuple(slice(1, None) if i in touched else 0 for i in range(len(sizes)))]
            shape = [sizes[i] - 1 if i in found.ordered else 1 for i in touched]
            np.testing.assert_allclose(
                np.broadcast_to(found.values(touched).reshape(shape), expected.shape), expected, atol=1e-12
            )


@WORKLOADS
def test_norms_by_blocks_are_those_of_the_gram_matrix(workload):
    V, n = workload.gram() / workload.domain_size, workload.domain_size
    P = np.eye(n) - 1 / n
    found = block_norms(harmonics(workload))
    roots = [np.sqrt(np.maximum(np.linalg.eigvalsh(A), 0)).sum() for A in (V, P @ V @ P)]
    assert [found.total, found.whole, found.centred] == pytest.approx([V.sum() / n, *roots], rel=1e-6)


def test_queries_that_a_block_has_no_room_for_leave_a_smaller_norm(monkeypatch):
    workload = CASES["two orders"]
    every = block_norms(harmonics(workload))
    monkeypatch.setattr("stratagem.bounds.blocks.LARGEST", 10)
    assert 0.2 * every.centred < block_norms(harmonics(workload)).centred < every.centred


@WORKLOADS
def test_variances_are_those_of_the_matrix(workload):
    for strategy in strategies(workload):
        found, dense = st.evaluate(workload, strategy), strategy.dense()
        expected = dense_accuracy(workload, dense, None)
        assert found.objective == pytest.approx(expected.objective, rel=1e-9)
        np.testing.assert_allclose(found.per_type, expected.per_type, rtol=1e-8)
        by_query = per_query_variance(workload, dense, uniform(workload.domain_size), None)
        np.testing.assert_allclose(query_variances(workload, strategy), by_query, rtol=1e-8, atol=1e-9)
        W, R = workload.matrix(), workload.matrix() @ _reconstruction(dense)
        each = np.square(R) @ dense.matrix - np.square(W)
        np.testing.assert_allclose(
            largest_variances(workload, strategy), each.max(axis=1), rtol=1e-7, atol=1e-9
        )


def _reconstruction(dense):
    """Return (Q^T D^-1 Q)^-1 Q^T D^-1, the least-squares inverse of the matrix."""
    Q = dense.matrix
    scaled = Q.T / Q.sum(axis=1)
    return np.linalg.pinv(scaled @ Q) @ scaled


def test_beyond_a_million_user_types_variances_are_listed_by_the_ordered_attributes(monkeypatch):
    workload = CASES["weighted"]
    strategy = next(strategies(workload))
    whole = st.evaluate(workload, strategy)
    monkeypatch.setattr("stratagem.accuracy.ordered.WRITTEN", 10)
    short = st.evaluate(workload, strategy)
    assert short.attributes == (0,)
    assert short.per_type.shape == (6,)
    np.testing.assert_allclose(short.per_type, whole.per_type.reshape(6, 6).max(axis=1))
    assert short.average_variance == pytest.approx(whole.average_variance)
