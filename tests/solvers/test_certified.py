"""The certified solver: certificates on every strategy, optima known from elsewhere."""

import time
from dataclasses import replace

import numpy as np
import pytest

import stratagem as st
from stratagem.bounds import Case, lower_bounds
from stratagem.bounds.duals import weighted_dual
from stratagem.bounds.proof import all_patterns
from stratagem.estimators import estimator
from stratagem.math.privacy import ratio
from stratagem.solvers import Certified, ProjectedGradient, search
from stratagem.solvers.certified.certified import Polish, translates
from stratagem.solvers.certified.design import Design, columns, filled, project_to_feasible
from stratagem.solvers.certified.patterns import distinct, gaussian_patterns, juntas
from stratagem.solvers.gradient.projected_gradient import regularised_factor
from stratagem.solvers.problem import Average
from tables import assert_private

MAKE = {
    "histogram": st.histogram,
    "prefix": st.prefix,
    "all-range": st.all_range,
    "all-marginals": lambda n: st.all_marginals(f"2^{n.bit_length() - 1}"),
    "2-way": lambda n: st.marginals(f"2^{n.bit_length() - 1}", 2),
}

# exact optima over all strategies: every one of the 2^n patterns in one semidefinite programme (Clarabel)
GOLDEN = {
    ("prefix", 4, 0.5): 117.21452,
    ("prefix", 4, 1.0): 33.97203,
    ("prefix", 4, 2.0): 14.11026,
    ("prefix", 4, 4.0): 10.38707,
    ("all-range", 4, 1.0): 95.36799,
    ("all-marginals", 4, 0.5): 341.21894,
    ("2-way", 4, 1.0): 34.22489,
    ("histogram", 8, 0.5): 768.89132,
    ("histogram", 8, 4.0): 10.24557,
    ("prefix", 8, 0.5): 851.05762,
    ("prefix", 8, 1.0): 220.25094,
    ("prefix", 8, 2.0): 70.65589,
    ("prefix", 8, 4.0): 39.36836,
    ("all-range", 8, 1.0): 1220.18395,
    ("all-range", 8, 2.0): 317.77194,
    ("all-marginals", 8, 2.0): 211.79078,
    ("2-way", 8, 1.0): 393.29772,
    ("2-way", 8, 2.0): 96.27952,
}


def solve(workload, epsilon, **options):
    problem = Average(workload=workload, epsilon=epsilon)
    solver = Certified(**{"restarts": 2, **options})
    found = search(solver, problem)
    return solver.finish(problem, found.best), found


@pytest.mark.parametrize("case", GOLDEN, ids=str)
def test_known_optima_are_reached(case):
    name, n, epsilon = case
    workload = MAKE[name](n)
    strategy, _ = solve(workload, epsilon)
    assert estimator(strategy).objective(workload) == pytest.approx(GOLDEN[case], rel=1e-3)
    assert estimator(strategy).objective(workload) >= GOLDEN[case] * (1 - 1e-5)


RANDOM = np.random.default_rng(3)
AWKWARD = {
    "one type": st.histogram(1),
    "two types": st.prefix(2),
    "total": st.total(37),
    "prefix 37": st.prefix(37),
    "stack": st.stack([st.prefix(20), st.weighted(st.total(20), 3.0)]),
    "kron": st.kron([st.prefix({"a": 5}), st.prefix({"b": 4})]),
    "predicates": st.explicit((RANDOM.random((9, 20)) < 0.5).astype(float)),
    "one query": st.explicit(np.eye(20)[:1]),
    "repeated columns": st.explicit(np.repeat(np.eye(5), 4, axis=1)),
    "1-way": st.marginals("2^4", 1),
    "tiny": st.weighted(st.prefix(20), 1e-6),
    "huge": st.weighted(st.prefix(20), 1e6),
}


@pytest.mark.parametrize(
    "epsilon",
    [
        pytest.param(0.1, marks=pytest.mark.thorough),
        pytest.param(1.0, marks=pytest.mark.thorough),
        pytest.param(12.0, marks=pytest.mark.exhaustive),
    ],
)
@pytest.mark.parametrize("name", AWKWARD)
def test_certificates(name, epsilon):
    workload = AWKWARD[name]
    strategy, found = solve(workload, epsilon, outputs=256, max_steps=2)
    ones = np.ones(strategy.outputs)
    assert np.abs(strategy.backward(ones) - 1).max() <= 1e-12
    assert strategy.epsilon <= epsilon
    value = estimator(strategy).objective(workload)
    assert value >= lower_bounds(workload, epsilon).best * (1 - 1e-9)
    # a descent asks a little of every cell, which costs 6e-5 at the most
    asked = _regularised(workload) if isinstance(found.best, Polish) else workload
    assert found.best.objective == pytest.approx(estimator(strategy).objective(asked), rel=1e-7)
    assert found.best.objective == pytest.approx(value, rel=1e-4)
    # three rounds at epsilon 12 end within a hair of randomised response, which is optimal there
    assert value <= min(_classics(workload, epsilon)) * (1 + 1e-4)
    # what is tuned for the workload may beat so short a search, but never what is returned
    solution = st.optimise(workload, epsilon, st.Certified(outputs=256, max_steps=2))
    few = (one for one in solution.baselines if one.strategy.outputs and one.strategy.outputs <= 256)
    assert solution.objective <= next(few).objective


def _regularised(workload):
    """The queries that a descent answers: the rows of a factor of its V."""
    return st.explicit(regularised_factor(workload.gram(), "float64").T, workload.domain)


def _classics(workload, epsilon):
    """Objectives of the mechanisms that need no tuning to a workload."""
    n = workload.domain_size
    yield estimator(st.published.randomised_response(n, epsilon)).objective(workload)
    for blocks in (1, 2, 4, 8, 16):
        yield estimator(st.published.hadamard_response(n, epsilon, min(blocks, n))).objective(workload)
    for branching in (2, 4, 8, 16):
        for oracle in ("hadamard", "randomised"):
            yield estimator(st.published.hierarchical(n, epsilon, branching, oracle)).objective(workload)


@pytest.mark.exhaustive
def test_estimates_are_unbiased():
    workload = st.prefix(20)
    strategy, _ = solve(workload, 1.0, max_steps=1)
    x = np.random.default_rng(0).integers(0, 50, 20).astype(float)
    np.testing.assert_allclose(strategy.reconstruct(strategy.forward(x)), x, rtol=1e-7, atol=1e-7)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["prefix", "all-marginals"])
def test_the_gap_closes_at_moderate_epsilon(name):
    workload = MAKE[name](16)
    strategy, found = solve(workload, 1.0, gap=0.005)
    assert estimator(strategy).objective(workload) <= 1.0051 * lower_bounds(workload, 1.0).best
    assert found.status.name == "OPTIMAL"


@pytest.mark.exhaustive
def test_outputs_are_limited():
    workload = st.prefix(16)
    strategy, _ = solve(workload, 1.0, outputs=64, max_steps=4)
    assert strategy.outputs <= 64
    assert estimator(strategy).objective(workload) <= 1.05 * lower_bounds(workload, 1.0).best


@pytest.mark.exhaustive
def test_the_same_seed_gives_the_same_strategy():
    first, second = (solve(st.prefix(16), 2.0, max_steps=2)[0] for _ in range(2))
    assert (first.patterns == second.patterns).all()
    assert (first.theta == second.theta).all()


def test_optimise_takes_the_solver():
    solution = st.optimise(st.prefix(16), 1.0, solver=Certified(gap=0.01))
    assert solution.solver == "Certified"
    assert solution.gap <= 0.01


@pytest.mark.parametrize("options", [{"outputs": 0}, {"updates": 0}, {"max_steps": 1.5}, {"gap": -1.0}])
def test_parameters_are_checked(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        Certified(**options)


def test_too_few_outputs_are_refused():
    with pytest.raises(ValueError, match="needs at least 16"):
        solve(st.prefix(16), 1.0, outputs=8)


def test_the_dual_carries_the_bound():
    dual = weighted_dual(Case(st.prefix(12), 1.0))
    assert dual.value == lower_bounds(st.prefix(12), 1.0)["weighted"].value
    assert (dual.gamma > 0).all()
    np.testing.assert_allclose(dual.information.sum(axis=0), 0, atol=1e-9)


def test_patterns():
    assert len(all_patterns(5)[1:-1]) == 30
    assert len(distinct(all_patterns(5)[1:-1])) == 30
    assert len(distinct(all_patterns(5)[1:-1], all_patterns(5)[1:-1][:7])) == 23
    rng, target = np.random.default_rng(0), weighted_dual(Case(st.prefix(40), 1.0))
    sizes = gaussian_patterns(target, np.eye(40), np.e, 500, rng).sum(axis=1)
    assert abs(sizes.mean() - 40 / (1 + np.e)) < 2
    for pattern in juntas((2, 3, 2, 2), np.e, 20, rng, most=2):
        cube = pattern.reshape(2, 3, 2, 2)
        depends = [(cube != np.roll(cube, 1, axis=a)).any() for a in range(4)]
        assert sum(depends) <= 2


RANDOM_ROWS = np.random.default_rng(5).random((40, 12)) < 0.3


@pytest.mark.parametrize(
    "patterns",
    [np.eye(12, dtype=bool)[:3], RANDOM_ROWS[:6], RANDOM_ROWS],
    ids=["three singletons", "few random rows", "many random rows"],
)
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 8.0])
def test_anything_can_be_balanced(patterns, epsilon):
    """Random weights on patterns that mostly cannot be balanced: randomised response fills what is missing."""
    problem, patterns = Average(workload=st.histogram(12), epsilon=epsilon), distinct(patterns)
    p = np.random.default_rng(1).dirichlet(np.ones(len(patterns)))
    strategy = project_to_feasible(Design(patterns, p, 1.0, np.zeros(12), 1.0), problem)
    assert_private(strategy, epsilon)


def test_filling_keeps_what_is_balanced_and_heeds_the_limit():
    E, patterns = ratio(1.0), all_patterns(6)[1:-1]
    theta = np.full(len(patterns), 1.0)
    theta /= columns(patterns, theta, E - 1)[0]
    rows, filled_theta = filled(patterns, theta, E)
    np.testing.assert_allclose(filled_theta[: len(theta)], theta, rtol=1e-12)
    rows, filled_theta = filled(patterns, theta, E, most=20)
    assert len(rows) <= 20
    np.testing.assert_allclose(columns(rows, filled_theta, E - 1), 1, atol=1e-14)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["prefix", "2-way"])
def test_few_outputs_are_never_worse_than_the_gradient_alone(name):
    workload = MAKE[name](16)
    problem = Average(workload=workload, epsilon=1.0)
    gradient = ProjectedGradient(outputs=64)
    alone = estimator(gradient.finish(problem, search(gradient, problem).best)).objective(workload)
    strategy, _ = solve(workload, 1.0, outputs=64, max_steps=4)
    assert strategy.outputs <= 64
    assert_private(strategy, 1.0)
    assert estimator(strategy).objective(workload) <= alone * (1 + 1e-4)


@pytest.mark.exhaustive
def test_restarts_go_on_from_the_best_matrix():
    """The last starts of the gradient put undervalued rows into the best matrix so far."""
    workload = st.prefix(16)
    (_, alone), (strategy, found) = (
        solve(workload, 0.5, outputs=40, max_steps=4, restarts=restarts) for restarts in (0, 6)
    )
    assert {step.start for step in found.history} == set(range(8))
    assert found.history[: len(alone.history)][-1].objective == alone.history[-1].objective
    assert found.best.objective < 0.999 * alone.best.objective
    assert estimator(strategy).objective(workload) == pytest.approx(found.best.objective, rel=5e-5)
    assert_private(strategy, 0.5)


@pytest.mark.exhaustive
def test_time_runs_out_within_a_round():
    began = time.perf_counter()
    strategy, found = solve(st.prefix(64), 1.0, max_seconds=0.1)
    assert found.status.name == "TIME_EXHAUSTED"
    assert len(found.history) == 1
    assert time.perf_counter() - began < 30
    assert estimator(strategy).objective(st.prefix(64)) <= 1.2 * lower_bounds(st.prefix(64), 1.0).best


@pytest.mark.exhaustive
def test_the_trade_off_falls_with_outputs():
    table = st.study.trade_off(st.prefix(12), 1.0, outputs=[96, 24], max_seconds=10)
    assert [point.outputs for point in table.points] == [24, 96]
    assert all(point.strategy.outputs <= point.outputs for point in table.points)
    assert 0 <= table.points[1].gap <= table.points[0].gap <= 0.2
    assert str(table).count("%") == 2
    with pytest.raises(ValueError, match="at least 12"):
        st.study.trade_off(st.prefix(12), 1.0, outputs=[8])


@pytest.mark.exhaustive
def test_translates_of_few_values_go_first_where_they_are_better():
    """At large epsilon, where random fields are far from the optimum, one round is enough to be below `Orbit`."""
    workload, epsilon = st.prefix(160), 4.0
    orbit, accuracy = st.solvers.Orbit().solve(workload, epsilon)
    sets, chances = translates(orbit, 1 << 14)
    assert sets.any(axis=1).all()
    assert not sets.all(axis=1).any()
    assert chances.sum() == pytest.approx(1)
    problem, solver = Average(workload=workload, epsilon=epsilon), st.Certified(max_steps=1)
    fields, first = solver.begin(problem, 0, None), replace(solver, translated=True).begin(problem, 0, None)
    assert first.objective < accuracy.objective < fields.objective
    strategy = solver.finish(problem, first)
    assert st.evaluate(workload, strategy).objective == pytest.approx(first.objective, rel=1e-4)
    assert strategy.epsilon <= epsilon
