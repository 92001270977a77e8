"""Variances of ranges under translates, by their lengths, against those of all ranges one by one."""

import math

import numpy as np
import pytest

import stratagem as st
from stratagem.estimators import estimator
from stratagem.estimators.translation import largest
from stratagem.estimators.translation.largest import largest_by_table, largest_of_kinds
from stratagem.workloads.selection import Ranges, SomeQueries

CASES = [(n, cycle, epsilon) for n, cycle in ((12, 12), (13, 13), (12, 17)) for epsilon in (0.1, 1.0, 4.0)]


def orbit(n, cycle, epsilon, seed=0):
    rng = np.random.default_rng(seed)
    patterns = tuple(
        st.strategies.Pattern.of((0,), rng.permutation(cycle) < rng.integers(1, cycle // 2)) for _ in range(3)
    )
    return st.strategies.OrbitStrategy((n,), (cycle,), patterns, np.array([0.5, 0.3, 0.2]), math.exp(epsilon))


def one_by_one(workload, strategy):
    """Return the variance (p, n) of every range for every user, shift by shift: cells have the scores x^/m."""
    n, (cycle,) = workload.domain_size, strategy.cycles
    rows = np.pad(workload.matrix(), ((0, 0), (0, cycle - n)))
    levels = [pattern.levels(strategy.ratio) for pattern in strategy.patterns]
    m = sum(w * np.abs(np.fft.fft(x)) ** 2 for w, x in zip(strategy.weights, levels, strict=True))
    second = np.zeros((workload.queries, n))
    for w, x in zip(strategy.weights, levels, strict=True):
        scores = np.fft.ifft(np.fft.fft(x) / m).real
        for shift in range(cycle):
            answers = rows @ np.roll(scores, shift)
            second += w * np.outer(answers**2, np.roll(x, shift)[:n])
    return second - workload.matrix() ** 2


@pytest.mark.parametrize(("n", "cycle", "epsilon"), CASES)
@pytest.mark.parametrize("width", [None, 5])
def test_the_largest_variance_of_every_length_is_that_of_its_ranges(n, cycle, epsilon, width):
    workload, strategy = st.all_range(n, width), orbit(n, cycle, epsilon)
    exact = one_by_one(workload, strategy).max(axis=1)
    found = largest_by_table(workload, strategy)
    lengths = workload.matrix().sum(axis=1)
    of_length = [exact[lengths == one].max() for one in lengths]
    np.testing.assert_allclose(found, of_length, rtol=1e-10, atol=1e-12)
    assert largest_of_kinds(workload, strategy) == pytest.approx(exact.max())
    if cycle == n:
        np.testing.assert_allclose(found, exact, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(found, estimator(strategy.dense()).largest(workload), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("n", "cycle", "epsilon"), CASES)
def test_the_bound_is_above_the_largest_variance_but_not_far(n, cycle, epsilon, monkeypatch):
    workload, strategy = st.all_range(n), orbit(n, cycle, epsilon)
    exact = one_by_one(workload, strategy).max(axis=1)
    monkeypatch.setattr(largest, "WORK", 0)
    bound = largest_by_table(workload, strategy)
    assert (bound >= exact * (1 - 1e-12)).all()
    assert exact.max() <= bound.max() <= 2.3 * exact.max()
    assert (bound < exact.max()).any() or epsilon > 1  # it tells lengths apart


@pytest.mark.parametrize("workload", [st.all_range(13), st.all_range(13, 4), st.prefix(13)])
def test_the_variance_for_users_of_random_type_follows_from_the_length(workload):
    strategy = orbit(13, 13, 1.0)
    expected = one_by_one(workload, strategy).mean(axis=1)
    np.testing.assert_allclose(estimator(strategy).variances(workload), expected, rtol=1e-10, atol=1e-12)


def test_products_of_ranges_are_looked_at_by_length():
    sizes, inside = (5, 4), np.random.default_rng(0).random((5, 4)) < 0.4
    strategy = st.strategies.OrbitStrategy(
        sizes, sizes, (st.strategies.Pattern.of((0, 1), inside),), np.ones(1), math.e
    )
    workload = st.kron([st.all_range({"a": 5}), st.all_range({"b": 4})])
    expected = estimator(strategy.dense()).largest(workload)
    np.testing.assert_allclose(largest_by_table(workload, strategy), expected, rtol=1e-9)
    assert estimator(strategy).worst(workload) == pytest.approx(expected.max())


def test_some_queries_are_those_of_the_workload():
    domain = {"a": 4, "b": 3, "c": 2}
    rows = np.random.default_rng(0).random((5, 2))
    every = [
        st.all_range(9),
        st.parity(domain, 2),
        st.marginals(domain, 2),
        st.kron([st.prefix(4), st.all_range(3), st.explicit(rows)]),
        st.stack([st.marginals(domain, 1), st.weighted(st.parity(domain, 2), -2.5), st.total(domain)]),
    ]
    for workload in every:
        chosen = np.array([*range(0, workload.queries, 3), 0, workload.queries - 1])
        some, whole = SomeQueries(workload, chosen), workload.matrix()[chosen]
        np.testing.assert_allclose(some.matrix(), whole)
        np.testing.assert_allclose(some.gram(), whole.T @ whole)
        assert some.frobenius_squared == pytest.approx((whole**2).sum())
        y = np.arange(len(chosen), dtype=float)
        np.testing.assert_allclose(some.adjoint(y), whole.T @ y)
        spectrum = some.structure.translation_spectrum().ravel()[0]
        assert spectrum == pytest.approx(whole.sum(axis=1) @ whole.sum(axis=1) / workload.domain_size)
    ranges = Ranges(st.Domain.of(6), np.array([0, 2]), np.array([5, 2]))
    expected = st.explicit(ranges.matrix(), ranges.domain).structure.translation_spectrum()
    assert ranges.structure.translation_spectrum()[0] == pytest.approx(expected[0])
