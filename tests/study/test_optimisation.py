"""The verb `optimise`: every workload crossed with every budget, and workloads that break other tools."""

import numpy as np
import pytest

import stratagem as st
from stratagem.bounds import Bound
from stratagem.bounds.formulas import CLOSED
from stratagem.math.number import above_minimum
from tables import WORKLOADS, assert_between, assert_certified, least_published

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 12.0)


@pytest.mark.sampled(72, 3)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_at_every_budget(name, epsilon):
    solver = st.ProjectedGradient(max_steps=60)
    assert_certified(st.optimise(WORKLOADS[name](64), epsilon, solver=solver), epsilon)


SOLVERS = {
    "auto": st.Auto(),
    "certified": st.Certified(),
    "projected gradient": st.ProjectedGradient(max_steps=8),
    "few queries": st.solvers.FewQueries(),
    "junta": st.solvers.Junta(),
    "orbit": st.solvers.Orbit(),
}


@pytest.mark.sampled(5, 1)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("n", [8, 16])
@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_at_every_budget_by_every_solver(name, n, epsilon):
    workload, unable = WORKLOADS[name](n), set()
    published = least_published(workload, epsilon)
    for kind, solver in SOLVERS.items():
        try:
            solution = st.optimise(workload, epsilon, solver=solver)
        except ValueError:
            unable.add(kind)
            continue
        if isinstance(solution.strategy, st.strategies.Strategy):
            assert_certified(solution, epsilon, published)
        else:
            assert_between(solution, epsilon, published)
    assert unable <= {"few queries"}, "these queries are many, which every other solver takes"


def _repeated(n: int) -> st.Workload:
    return st.explicit(np.eye(n)[:, [0, *range(n - 1)]])


AWKWARD = {
    "total": lambda: st.total(12),
    "one user type": lambda: st.histogram(1),
    "two user types": lambda: st.prefix(2),
    "one type repeated": lambda: _repeated(9),
    "rank one": lambda: st.explicit([[1.0, 2.0, -3.0, 0.5, 0.0]]),
    "random predicates": lambda: st.explicit(np.random.default_rng(5).integers(0, 2, (20, 24))),
    "n = 37": lambda: st.all_range(37),
    "n = 100": lambda: st.prefix(100),
    "mixed categories": lambda: st.marginals({"age": 5, "sex": 2, "region": 3}, 2),
    "weighted stack": lambda: st.stack([st.prefix(10), st.weighted(st.histogram(10), 100.0)]),
    "prefix x prefix": lambda: st.kron([st.prefix({"a": 5}), st.prefix({"b": 4})]),
    "short ranges": lambda: st.all_range(30, width=3),
    "unused type": lambda: st.explicit([[1, 0, 0, 0], [1, 1, 0, 0]]),
    "tiny weights": lambda: st.weighted(st.prefix(8), 1e-6),
    "huge weights": lambda: st.weighted(st.prefix(8), 1e6),
}


@pytest.mark.parametrize(
    "epsilon",
    [
        pytest.param(0.1, marks=pytest.mark.thorough),
        pytest.param(1.0, marks=pytest.mark.thorough),
        pytest.param(6.0, marks=pytest.mark.exhaustive),
    ],
)
@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_workloads(name, epsilon):
    solution = st.optimise(AWKWARD[name](), epsilon, solver=st.ProjectedGradient(max_steps=100))
    assert_certified(solution, epsilon)


@pytest.mark.exhaustive
def test_the_default_solver_is_close_to_the_bound():
    solution = st.optimise(st.prefix(64), epsilon=1.0)
    assert_certified(solution, 1.0)
    assert solution.gap <= 0.02
    assert solution.samples_for(0.01) == pytest.approx(solution.accuracy.worst_case_variance / 0.64)
    assert above_minimum(solution.variance_gap) in " ".join(str(solution).split())


def test_a_result_that_contradicts_a_bound_is_an_error(monkeypatch):
    """Negative control of the certificate: raise the bound above the truth and the result is refused."""
    from stratagem.solvers.problem import problem

    honest = problem.lower_bounds

    def inflated(workload, epsilon, *rest):
        bounds = honest(workload, epsilon, *rest)
        return bounds.having(*Bound.of(CLOSED, 2 * bounds["closed"].value))

    monkeypatch.setattr(problem, "lower_bounds", inflated)
    with pytest.raises(ArithmeticError, match="below the closed bound"):
        st.optimise(st.prefix(8), 1.0, solver=st.ProjectedGradient(max_steps=20))


@pytest.mark.exhaustive
@pytest.mark.parametrize("outputs", [1, 3])
def test_too_few_outputs_fall_back_to_a_baseline(outputs):
    solution = st.optimise(st.prefix(8), 1.0, solver=st.ProjectedGradient(outputs=outputs, max_steps=20))
    assert_certified(solution, 1.0)
    assert solution.status == st.solvers.Status.BASELINE


def test_one_user_type_needs_no_bound_larger_than_its_cost():
    solution = st.optimise(st.histogram(1), 1.0)
    assert solution.objective == pytest.approx(1.0)
    assert solution.gap == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), None])
def test_bad_epsilon(epsilon):
    with pytest.raises(ValueError, match="epsilon is"):
        st.optimise(st.prefix(4), epsilon)


@pytest.mark.parametrize("asked", [{}, {"gap": 1e-6}])
def test_few_queries_over_few_values_are_as_good_as_patterns_that_are_all_listed(asked):
    """The linear programme alone ends 2.4e-4 above."""
    moments = [[0, 1, 2, 3, 4, 5], [0, 1, 4, 9, 16, 25]]
    listed = st.optimise(moments, 0.7, "certified").objective
    assert st.optimise(moments, 0.7, **asked).objective <= listed * (1 + 1e-6)
