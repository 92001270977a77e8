"""Lower bounds: golden values, validity on random strategies, and what they may never do."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as draw

import stratagem as st
from stratagem.estimators import estimator
from tables import WORKLOADS, golden, random_ldp_matrix

GOLDEN = list(golden())


@pytest.mark.parametrize("line", GOLDEN, ids=lambda g: f"{g.name}-{g.n}-{g.epsilon}")
def test_golden_bounds_and_randomised_response(line):
    bounds = st.lower_bounds(line.workload(), line.epsilon)
    for name, key in (
        ("svd", "svd"),
        ("closed", "closed"),
        ("integer", "integer_trace"),
        ("weighted", "weighted"),
    ):
        assert bounds.known()[name] == pytest.approx(line.values[key], rel=1e-4)
    rr = estimator(st.published.randomised_response(line.n, line.epsilon)).objective(line.workload())
    assert rr == pytest.approx(line.values["rr"], rel=1e-4)
    assert bounds.best <= line.values["optimum"] * (1 + 1e-5)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("histogram", 14618.7),
        ("prefix", 40061.0),
        ("all-range", 1872069.6),
        ("all-marginals", 557597.1),
        ("3-way marginals", 140329.5),
        ("parity", 935594.4),
    ],
)
def test_certified_bounds_at_64(name, value):
    assert st.lower_bounds(WORKLOADS[name](64), 1.0).best == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_the_closed_bound_beats_the_published_one_fourfold_on_centred_workloads(epsilon):
    differences = st.explicit(np.diff(np.eye(9), axis=0))
    bounds = st.lower_bounds(differences, epsilon)
    assert bounds["closed"].value >= 4 * bounds["svd"].value


def test_the_integer_bound_is_attained_by_subset_selection():
    """Histogram, n = 5: the best of all uniform mixtures over the k-subsets meets the bound."""
    from itertools import combinations

    n, E = 5, math.e
    best = math.inf
    for k in range(1, n):
        rows = np.ones((math.comb(n, k), n))
        for row, chosen in zip(rows, combinations(range(n), k), strict=True):
            row[list(chosen)] = E
        best = min(
            best, estimator(st.strategies.MatrixStrategy(rows / rows.sum(axis=0))).objective(st.histogram(n))
        )
    assert best == pytest.approx(st.lower_bounds(st.histogram(n), 1.0)["integer"].value, rel=1e-8)


@pytest.mark.exhaustive
@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    seed=draw.integers(0, 2**32 - 1),
    n=draw.integers(2, 9),
    epsilon=draw.floats(0.05, 6.0),
    kind=draw.sampled_from(["prefix", "all-range", "histogram", "random", "predicates", "low rank"]),
)
def test_no_random_strategy_is_below_any_bound(seed, n, epsilon, kind):
    rng = np.random.default_rng(seed)
    if kind in WORKLOADS:
        workload = WORKLOADS[kind](n)
    elif kind == "predicates":
        workload = st.explicit(np.vstack([rng.integers(0, 2, (6, n)), np.ones(n)]))
    else:
        rank = 1 if kind == "low rank" else 2 * n
        workload = st.explicit(rng.standard_normal((rank, n)))
    bounds = st.lower_bounds(workload, epsilon).known()
    for _ in range(10):
        Q = random_ldp_matrix(rng, int(rng.integers(2, 4 * n)), n, epsilon)
        strategy = st.strategies.MatrixStrategy(Q)
        assert strategy.epsilon <= epsilon + 1e-9
        try:
            value = estimator(strategy).objective(workload)
        except st.UnsupportedWorkloadError:
            continue
        for name, bound in bounds.items():
            assert value >= bound * (1 - 1e-9), name


@pytest.mark.parametrize("n", [1, 2, 37])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 30.0])
def test_bounds_exist_at_the_edges(n, epsilon):
    for workload in (st.histogram(n), st.total(n), st.prefix(n)):
        bounds = st.lower_bounds(workload, epsilon)
        assert all(math.isfinite(value) and value >= 0 for value in bounds.known().values())
        assert bounds.best == bounds.known()[bounds.name]


def test_the_total_costs_exactly_n():
    assert st.lower_bounds(st.total(20), 1.0).best == pytest.approx(20)
    assert estimator(st.published.randomised_response(20, 1.0)).objective(st.total(20)) == pytest.approx(20)


def test_weighted_is_at_least_closed_and_stopping_early_stays_valid():
    from stratagem.bounds import Case
    from stratagem.bounds.duals import weighted_dual

    workload = st.prefix(16)
    values = [weighted_dual(Case(workload, 2.0), k).value for k in (1, 3, 60)]
    assert values == sorted(values)
    assert values[0] >= st.lower_bounds(workload, 2.0)["closed"].value * (1 - 1e-12)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "one"])
def test_epsilon_out_of_range_is_one_sentence(epsilon):
    with pytest.raises(ValueError, match="epsilon is") as caught:
        st.lower_bounds(st.histogram(4), epsilon)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("workload", "optimal"),
    [(st.prefix(2), True), (st.prefix(9), True), (st.explicit(np.eye(20)[:1]), True), (st.prefix(16), False)],
)
def test_bounds_say_whether_they_are_the_optimum(workload, optimal):
    assert st.lower_bounds(workload, 1.0).optimal is optimal
