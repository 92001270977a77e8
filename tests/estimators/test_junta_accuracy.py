"""The accuracy of invariant strategies, against the matrix they stand for and against simulated reports."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

import stratagem as st
from stratagem.estimators import estimator
from stratagem.math.privacy import ratio
from tables import EPSILONS

MIXED = "a=2,b=3,c=2,d=3,e=2"


def some(axes, shape, seed):
    """A random pattern of about 3 cells in 10."""
    inside = np.random.default_rng(seed).random(shape) < 0.3
    inside.flat[0], inside.flat[1] = True, False
    return st.strategies.Pattern.of(axes, inside)


def juntas(epsilon=1.0):
    """Three patterns on attributes of two kinds."""
    patterns = (some((0, 0, 1), (2, 2, 3), 0), some((1, 0, 1), (3, 2, 3), 1), some((0,), (2,), 2))
    weights = np.array([0.5, 0.3, 0.2])
    return st.strategies.JuntaStrategy(
        (2, 3, 2, 3, 2), ((0, 2, 4), (1, 3)), patterns, weights, ratio(epsilon)
    )


def alone():
    """The same groups as singletons, so that only some tables can be answered."""
    patterns = (some((0, 1), (2, 3), 0), some((2, 3), (2, 3), 1), some((4,), (2,), 2))
    groups = tuple((i,) for i in range(5))
    return st.strategies.JuntaStrategy((2, 3, 2, 3, 2), groups, patterns, np.full(3, 1 / 3), ratio(1.0))


def orbit(epsilon=1.0):
    """Two patterns over the whole of three attributes."""
    patterns = tuple(some((0, 1, 2), (2, 3, 4), seed) for seed in range(2))
    return st.strategies.OrbitStrategy((2, 3, 4), (2, 3, 4), patterns, np.array([0.4, 0.6]), ratio(epsilon))


def binary():
    """A pattern of three among eight binary attributes."""
    group, cell = (tuple(range(6)),), np.arange(8).reshape(2, 2, 2) == 0
    return st.strategies.JuntaStrategy(
        (2,) * 6, group, (st.strategies.Pattern.of((0, 0, 0), cell),), np.ones(1), ratio(1.0)
    )


def table(wanted, **sizes):
    """The table of some attributes of a domain."""
    return st.kron([(st.histogram if name in wanted else st.total)({name: a}) for name, a in sizes.items()])


FIVE = {"a": 2, "b": 3, "c": 2, "d": 3, "e": 2}
INVARIANT = {
    "juntas, marginals": (st.marginals(MIXED, 2), juntas()),
    "juntas, weighted stack": (
        st.stack([st.marginals(MIXED, 1), st.weighted(table("acd", **FIVE), 3.0), st.parity(MIXED, 2)]),
        juntas(),
    ),
    "juntas, one table": (table("bd", **FIVE), juntas()),
    "finer groups than the queries'": (st.stack([table("ab", **FIVE), table("cd", **FIVE)]), alone()),
    "binary": (st.marginals("2^6", 3), binary()),
    "orbit, all marginals": (st.all_marginals("a=2,b=3,c=4"), orbit()),
    "orbit, histogram": (st.histogram("a=2,b=3,c=4"), orbit()),
    "orbit, total": (st.total("a=2,b=3,c=4"), orbit()),
}


@pytest.mark.parametrize(("workload", "strategy"), INVARIANT.values(), ids=INVARIANT)
def test_accuracy_is_that_of_the_matrix(workload, strategy):
    found, expected = st.evaluate(workload, strategy), st.evaluate(workload, strategy.dense())
    scale = expected.per_type.max() + 1e-9 * expected.objective
    assert found.objective == pytest.approx(expected.objective, rel=1e-8)
    np.testing.assert_allclose(expected.per_type, found.worst_case_variance, atol=1e-8 * scale)
    assert found.worst_case_variance == found.average_variance == found.worst_case_variance
    assert found.queries == expected.queries
    assert found.samples_for(0.01) == pytest.approx(expected.samples_for(0.01), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("made", [juntas, orbit])
def test_accuracy_is_that_of_the_matrix_at_every_budget(made, epsilon):
    strategy = made(epsilon)
    workload = st.marginals(",".join(f"x{i}={a}" for i, a in enumerate(strategy.sizes)), 2)
    expected = st.evaluate(workload, strategy.dense())
    found = st.evaluate(workload, strategy)
    assert found.objective == pytest.approx(expected.objective, rel=1e-8)
    assert found.worst_case_variance == pytest.approx(expected.average_variance, rel=1e-7)


ORDERED = {
    "prefix": (st.kron([st.histogram({"a": 2}), st.prefix({"b": 3}), st.all_range({"c": 4})]), orbit()),
    "explicit": (st.explicit(np.random.default_rng(3).normal(size=(7, 24)), "a=2,b=3,c=4"), orbit()),
}


@pytest.mark.parametrize(("workload", "strategy"), ORDERED.values(), ids=ORDERED)
def test_workloads_that_are_not_invariant_are_averaged_or_told_by_type(workload, strategy):
    expected = st.evaluate(workload, strategy.dense())
    assert st.evaluate(workload, strategy).objective == pytest.approx(expected.objective, rel=1e-8)
    np.testing.assert_allclose(st.evaluate(workload, strategy).per_type, expected.per_type)


def cell_variance(strategy, chosen):
    """Return what a user adds to the variance of a cell of a table, sum_chi (1/m - 1)/cells^2."""
    total = 0.0
    for picked in product((False, True), repeat=len(chosen)):
        m = strategy.eigenvalues_at([i for i, one in zip(chosen, picked, strict=True) if one])
        total += np.sum(1 / m - 1)
    return total / math.prod(strategy.sizes[i] for i in chosen) ** 2


@pytest.mark.parametrize("chosen", [(), (1,), (3, 0), (0, 2, 1)])
@pytest.mark.parametrize("strategy", [juntas(), orbit()], ids=["juntas", "orbit"])
def test_the_cells_of_a_table_share_its_variance(strategy, chosen):
    if max(chosen, default=0) >= len(strategy.sizes):
        chosen = chosen[1:]
    sizes = {f"x{i}": a for i, a in enumerate(strategy.sizes)}
    workload = table([f"x{i}" for i in chosen], **sizes)
    every = st.evaluate(workload, strategy).worst_case_variance
    assert cell_variance(strategy, chosen) * workload.queries == pytest.approx(every, rel=1e-9, abs=1e-12)
    n, uniform = strategy.domain_size, np.ones(strategy.domain_size)
    each = st.per_query_variance(workload, strategy.dense(), uniform) / n
    np.testing.assert_allclose(each, cell_variance(strategy, chosen), atol=1e-10)


def test_a_hundred_attributes_are_measured_per_user_type():
    group = (tuple(range(100)),)
    strategy = st.strategies.JuntaStrategy(
        (2,) * 100, group, (some((0,) * 4, (2,) * 4, 1),), np.ones(1), ratio(1.0)
    )
    found = st.evaluate(st.marginals("2^100", 2), strategy)
    assert found.objective == pytest.approx(found.worst_case_variance + 4950)
    assert 4950 * 4 * cell_variance(strategy, (17, 80)) == pytest.approx(found.worst_case_variance)


def distance(strategy, workload, found, users=300_000):
    """Return by how many standard errors the simulated variance of one user's estimates misses t_u."""
    rng = np.random.default_rng(0)
    matrix = strategy.dense()
    truth = workload.answer(np.eye(workload.domain_size)[:, 7])
    reports = strategy.randomise(np.full(users, 7), rng)
    outputs, counts = np.unique(reports, return_counts=True)
    estimates = workload.answer(matrix.reconstruct(np.eye(matrix.outputs)[:, outputs]))
    errors = np.square(estimates - truth[:, None]).sum(axis=0)
    mean = counts @ errors / users
    return (mean - found) / np.sqrt(counts @ np.square(errors - mean) / users**2)


def test_simulated_reports_have_the_variance_that_is_stated():
    """Normal approximation, false alarms 1e-6; a variance 3 % too large must be noticed."""
    workload, strategy = INVARIANT["juntas, marginals"]
    stated = st.evaluate(workload, strategy).worst_case_variance
    assert abs(distance(strategy, workload, stated)) < norm.isf(5e-7)
    assert abs(distance(strategy, workload, 1.03 * stated)) > norm.isf(5e-7)


@pytest.mark.parametrize(
    ("workload", "strategy", "words"),
    [
        (st.marginals(MIXED, 4), juntas(), "attributes a, c, e together"),
        (table("ac", **FIVE), alone(), "attributes a, c together"),
        (st.marginals("2^6", 4), binary(), "leave those queries out"),
    ],
)
def test_queries_that_no_report_tells_are_refused_by_name(workload, strategy, words):
    with pytest.raises(st.UnsupportedWorkloadError, match=words):
        st.evaluate(workload, strategy)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="same attribute sizes"):
        st.evaluate(st.marginals("2^6", 2), juntas())
    with pytest.raises(ValueError, match="alpha"):
        st.evaluate(st.marginals(MIXED, 1), juntas()).samples_for(0)


ONE_AXIS = st.strategies.Pattern.of((0,), np.array([1, 0]))
EVEN_CELLS = st.strategies.OrbitStrategy(
    (8,), (8,), (st.strategies.Pattern.of((0,), np.arange(8) % 2 == 0),), np.ones(1), np.e
)
UNANSWERED = {
    "pairs of 4 bits": (st.marginals("2^4", 2), (2,) * 4),
    "pairs of 100 bits": (st.marginals("2^100", 2), (2,) * 100),
    "weighted pairs": (st.weighted(st.marginals("2^30", 2), 3.0), (2,) * 30),
    "parities": (st.parity("2^30", 2), (2,) * 30),
}


@pytest.mark.parametrize("verb", ["accuracy", "variances", "largest"])
@pytest.mark.parametrize("name", UNANSWERED)
def test_patterns_of_one_axis_answer_no_pairs(name, verb):
    """The variance of such a query was once a small number, as what the strategy does not see counted as exact."""
    workload, sizes = UNANSWERED[name]
    strategy = st.strategies.JuntaStrategy(sizes, (tuple(range(len(sizes))),), (ONE_AXIS,), np.ones(1), np.e)
    with pytest.raises(st.UnsupportedWorkloadError, match="cannot answer"):
        getattr(estimator(strategy), verb)(workload)
    assert np.all(np.ravel(estimator(strategy).variances(st.marginals(workload.domain, 1))) > 0)


@pytest.mark.parametrize("verb", ["accuracy", "variances", "largest"])
@pytest.mark.parametrize("make", [st.histogram, st.all_range])
def test_a_pattern_with_a_period_answers_no_histogram(make, verb):
    with pytest.raises(st.UnsupportedWorkloadError, match="cannot answer"):
        getattr(estimator(EVEN_CELLS), verb)(make(8))


def test_what_a_pattern_with_a_period_sees_is_answered():
    """Which of the even and the odd cells a user has, known to the translates of the even cells."""
    halves = st.explicit((np.arange(8) % 2 == np.arange(2)[:, None]).astype(float))
    expected = st.per_query_variance(halves, EVEN_CELLS.dense(), np.full(8, 1 / 8))
    assert estimator(EVEN_CELLS).variances(halves) == pytest.approx(expected)
