"""The default solver: what it picks, why, and whether the gap asked for was met."""

import math
import time

import numpy as np
import pytest

import stratagem as st
from stratagem.solvers.problem import Average
from tables import WORKLOADS, assert_certified, assert_private


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", WORKLOADS)
def test_it_picks_the_certified_solver_and_says_why(name):
    solution = st.optimise(WORKLOADS[name](16), 1.0, solver=st.Auto(gap=0.05))
    assert_certified(solution, 1.0)
    settled = name in ("histogram", "parity")  # a design attains their bound
    assert (solution.status is st.solvers.Status.SETTLED) == settled
    if settled:
        assert solution.gap == pytest.approx(0, abs=1e-9)
    else:
        assert solution.solver == "Certified"
        assert "16 user types" in solution.reason
    assert ("published mechanism" in solution.reason) == settled
    assert solution.gap <= 0.05


def chosen(n, **options):
    return st.Auto(**options).select(Average(workload=st.prefix(n), epsilon=1.0))


def test_small_domains_list_all_rows_and_short_times_have_fewer_rows():
    assert "all 62 two-level rows over 6 user types" in chosen(6).reason
    assert chosen(64).solver.outputs is None
    short, long = chosen(960, max_seconds=10.0), chosen(960, max_seconds=600.0)
    assert 4 * 960 <= short.solver.outputs < 16 * 960
    assert f"10 s are enough for {short.solver.outputs} two-level rows over 960" in short.reason
    assert long.solver.outputs is None
    assert math.isfinite(chosen(960).solver.max_seconds)


def test_prefixes_of_a_thousand_values_take_translates_where_time_is_short():
    """Translates on a cycle leave some percent: a search without symmetry begins with them, if it has a minute."""
    assert isinstance(chosen(1024, max_seconds=10.0).solver, st.solvers.Orbit)
    assert isinstance(chosen(1025).solver, st.solvers.Orbit)
    patient = chosen(1024).solver
    assert isinstance(patient, st.Certified)
    assert patient.translated


@pytest.mark.exhaustive
def test_a_baseline_says_when_time_was_what_lacked(monkeypatch):
    """All time is over once the search begins, which returns its first state."""
    now, begin = [0.0], st.ProjectedGradient.begin

    def slow(*arguments):
        now[0] += 10
        return begin(*arguments)

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(st.ProjectedGradient, "begin", slow)
    late = st.optimise(st.prefix(48), 1.0, solver=st.ProjectedGradient(outputs=64, max_seconds=1))
    assert late.status is st.solvers.Status.BASELINE_IN_TIME
    assert "allow more seconds" in late.status


@pytest.mark.exhaustive
def test_fewer_outputs_than_types_are_reached_where_the_rank_is_low():
    solution = st.optimise(
        st.explicit([[1, 1, 1, 0, 0, 0, 0, 0], [0, 1, 1, 1, 0, 0, 0, 0]]), 1.0, solver=st.Auto(outputs=6)
    )
    assert_certified(solution, 1.0)
    assert solution.solver == "Certified"
    assert solution.strategy.outputs <= 6
    assert solution.gap <= 1e-3
    assert "6 outputs for 8 user types" in solution.reason


@pytest.mark.sampled(10)
@pytest.mark.parametrize(("n", "outputs"), [(4, 4), (4, 5), (8, 8), (8, 20), (16, 16)])
@pytest.mark.parametrize("seconds", [0.2, 20.0])
def test_outputs_are_never_exceeded(n, outputs, seconds):
    solution = st.optimise(st.prefix(n), 1.0, solver=st.Auto(outputs=outputs, max_seconds=seconds))
    assert_private(solution.strategy, 1.0)
    assert solution.strategy.outputs <= outputs
    assert solution.objective <= st.evaluate(st.prefix(n), st.published.randomised_response(n, 1.0)).objective


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("gap", "status"), [(0.05, st.solvers.Status.OPTIMAL), (1e-9, st.solvers.Status.GAP_MISSED)]
)
def test_the_status_says_whether_the_gap_was_met(gap, status):
    solution = st.optimise(st.prefix(24), 1.0, solver=st.Auto(gap=gap, max_seconds=2.0))
    assert solution.status is status
    assert (solution.gap <= gap) == (status is st.solvers.Status.OPTIMAL)


@pytest.mark.exhaustive
def test_a_baseline_that_is_optimal_meets_the_gap():
    solution = st.optimise(
        st.histogram(3), 4.0, solver=st.ProjectedGradient(outputs=3, max_steps=1, gap=0.01)
    )
    assert solution.gap <= 0.01
    assert solution.status is st.solvers.Status.OPTIMAL


def test_a_time_limit_keeps_the_best_so_far():
    solution = st.optimise(st.prefix(64), 1.0, solver=st.Auto(max_seconds=0.5))
    assert_certified(solution, 1.0)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"gap": -0.1}, "gap"),
        ({"gap": "x"}, "gap"),
        ({"max_seconds": 0.0}, "seconds"),
        ({"outputs": 0}, "outputs"),
        ({"outputs": 3.5}, "outputs"),
        ({"outputs": True}, "outputs"),
    ],
)
def test_bad_parameters_are_refused(change, fault):
    with pytest.raises(ValueError, match=fault):
        st.Auto(**change)


def test_two_queries_on_a_million_types_are_refused_with_a_way_that_works():
    """Types that no query tells apart are given as one, with their number as the prior."""
    W = np.zeros((2, 10**6))
    W[0, : 10**5], W[1, ::2] = 1, 1
    with pytest.raises(
        ValueError, match=r"the queries tell 4 kinds of user types apart: give W of one"
    ) as refused:
        st.optimise(W, 1.0)
    assert "np.unique(W, axis=1, return_counts=True)" in str(refused.value)
    kinds, many = np.unique(W, axis=1, return_counts=True)
    found = st.optimise(kinds, 1.0, prior=many)
    assert found.gap < 0.01
    small = np.repeat(kinds, many // 25_000, axis=1)
    same = st.optimise(small, 1.0)
    each, alike = (one.problem.added(one.objective) for one in (same, found))
    assert alike == pytest.approx(each, rel=0.01)
    with pytest.raises(ValueError, match=r"use coarser values$"):
        st.optimise(np.random.default_rng(0).random((1, 30_000)), 1.0, prior=np.ones(30_000))
