"""Releases of all tables, and the tree of dependences they show: valid tables, exact trees, bad input."""

from itertools import combinations

import numpy as np
import pytest

import stratagem as st
from stratagem.math.vector import SparseCounts

D = 7


def juntas(d, epsilon=1.0):
    """Return balanced patterns of 2, 3 and 4 of d binary attributes."""
    rng = np.random.default_rng(0)
    sets = (rng.permutation(2**j).reshape((2,) * j) < 2**j / 3.5 for j in (2, 3, 4))
    patterns = tuple(st.strategies.Pattern.of((0,) * inside.ndim, inside) for inside in sets)
    return st.strategies.JuntaStrategy(
        (2,) * d, (tuple(range(d)),), patterns, np.full(3, 1 / 3), np.exp(epsilon)
    )


def reported(strategy, values, rng):
    came, counts = np.unique(strategy.randomise(values, rng), return_counts=True)
    return SparseCounts(came, counts, strategy.outputs)


def chain(users, rng, d=D):
    """Return users whose attributes form a tree: 1 - 2 - 3 - 4, 2 - 5, 5 - 6, 5 - 7."""
    values = np.zeros((users, d), dtype=int)
    values[:, 0] = rng.random(users) < 0.4
    for child, parent in ((1, 0), (2, 1), (3, 2), (4, 1), (5, 4), (6, 4)):
        flip = rng.random(users) < (0.1, 0.15, 0.2, 0.12, 0.18, 0.25)[child - 1]
        values[:, child] = values[:, parent] ^ flip
    return values


TREE = {(1, 2), (2, 3), (3, 4), (2, 5), (5, 6), (5, 7)}


def truth(values, attributes):
    places = [int(name[1:]) - 1 for name in attributes]
    table = np.zeros((2,) * len(places))
    np.add.at(table, tuple(values[:, places].T), 1)
    return table


def found(order, users=4000, seed=0, workload=None):
    rng, strategy = np.random.default_rng(seed), juntas(D)
    values = chain(users, rng)
    estimate = st.estimate(
        strategy, reported(strategy, values, rng), workload or st.marginals(f"2^{D}", order)
    )
    return values, estimate


@pytest.mark.parametrize("order", [1, 2, 3])
def test_released_tables_agree_have_no_debt_and_hold_everybody(order):
    _, estimate = found(order)
    release = st.estimation.release(estimate, order)
    assert [t.attributes for t in release.tables] == list(
        combinations([f"a{i + 1}" for i in range(D)], order)
    )
    for one, other in combinations(release.tables, 2):
        shared = [name for name in one.attributes if name in other.attributes]
        np.testing.assert_allclose(one.onto(shared), other.onto(shared), atol=1e-6)
    for table in release.tables:
        assert table.counts.min() >= 0
        assert table.counts.sum() == pytest.approx(4000, abs=1e-6)


def test_what_is_released_is_nearer_than_the_raw_tables_and_errors_are_those_of_the_raw_ones():
    """4,000 users: raw tables have negative cells; on 20 collections the release is nearer every time."""
    raw_debt = 0
    for seed in range(20):
        values, estimate = found(2, seed=seed)
        release = st.estimation.release(estimate, 2)
        raw = [estimate.marginal(*table.attributes).answers.reshape(2, 2) for table in release.tables]
        raw_debt += sum((table < 0).any() for table in raw)
        true = [truth(values, table.attributes) for table in release.tables]
        after = sum(np.square(t.counts - x).sum() for t, x in zip(release.tables, true, strict=True))
        assert after < sum(np.square(t - x).sum() for t, x in zip(raw, true, strict=True))
    assert raw_debt > 20
    errors = release.standard_errors("a3", "a1")
    np.testing.assert_allclose(errors.ravel(), estimate.marginal("a1", "a3").standard_errors)
    cells = release.table("a1", "a3")
    assert cells.variance == pytest.approx(np.mean(errors**2), rel=0.3)
    np.testing.assert_allclose(release.table("a3", "a1").counts, cells.counts.T)
    np.testing.assert_allclose(release.table("a3").counts, cells.counts.sum(axis=0), atol=1e-6)


def test_a_release_needs_tables_of_that_many_attributes():
    _, estimate = found(2)
    for order in (0, 8, 1.5):
        with pytest.raises(ValueError, match="order"):
            st.estimation.release(estimate, order)
    with pytest.raises(ValueError, match="more attributes"):
        st.estimation.release(estimate, 2).table("a1", "a2", "a3")
    with pytest.raises(st.UnsupportedWorkloadError):
        st.estimation.release(estimate, 5)


def test_dense_strategies_and_post_processed_estimates_are_released_as_well():
    domain, rng = {"a": 3, "b": 2, "c": 2}, np.random.default_rng(1)
    strategy, x = st.published.hadamard_response(12, 1.0), rng.integers(0, 400, 12)
    counts = strategy.histogram(x, rng)
    one = st.estimation.release(st.estimate(strategy, counts, st.histogram(domain)), 2)
    two = st.estimation.release(st.estimate(strategy, counts, st.histogram(domain), method="norm-sub"), 2)
    for table, same in zip(one.tables, two.tables, strict=True):
        np.testing.assert_allclose(table.counts, same.counts)
        assert table.counts.sum() == pytest.approx(x.sum())
        assert table.counts.min() >= 0
