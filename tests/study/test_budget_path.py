"""One workload over many budgets: certified at each, in the order asked for."""

import numpy as np
import pytest

import stratagem as st
from tables import assert_certified


@pytest.mark.exhaustive
def test_every_budget_is_certified_in_the_order_given():
    epsilons = [3.0, 0.5, 1.0, 3.0]
    solutions = st.study.path(st.prefix(16), epsilons, st.Certified(max_steps=3))
    assert [solution.epsilon for solution in solutions] == epsilons
    for solution in solutions:
        assert_certified(solution, solution.epsilon)
        assert solution.gap < 0.02
    assert solutions[0] is solutions[3]
    assert solutions[1].objective > solutions[2].objective > solutions[3].objective


@pytest.mark.exhaustive
def test_a_start_at_another_budget_helps_where_patterns_are_small():
    workload, short = st.prefix(24), st.Certified(max_steps=1)
    known = st.optimise(workload, 2.5).strategy
    assert isinstance(known, st.strategies.TwoLevelStrategy)
    warm = st.optimise(workload, 2.6, st.Certified(max_steps=1, start=known))
    assert warm.objective < st.optimise(workload, 2.6, short).objective


@pytest.mark.parametrize(
    ("epsilons", "fault"), [([], "at least one"), ([1.0, -1.0], "epsilon"), ([np.nan], "epsilon")]
)
def test_bad_budgets_are_refused(epsilons, fault):
    with pytest.raises(ValueError, match=fault):
        st.study.path(st.prefix(8), epsilons)


def test_a_start_over_another_domain_is_refused():
    start = st.optimise(st.prefix(4), 1.0).strategy
    with pytest.raises(ValueError, match="4 user types and the workload 8"):
        st.optimise(st.prefix(8), 1.0, st.Certified(start=start))


def test_another_solver_is_refused():
    with pytest.raises(ValueError, match="Auto cannot start from other budgets"):
        st.study.path(st.prefix(8), [1.0], st.Auto())
