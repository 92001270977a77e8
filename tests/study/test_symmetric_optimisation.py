"""Domains that only symmetry can handle, from the workload to the certificate: one verb as for small ones."""

import math

import numpy as np
import pytest

import stratagem as st
from commands import assert_refused, run_json

MARGINALS = {
    "2-way of 20": (st.marginals("2^20", 2), 0.005),
    "2-way of 100": (st.marginals("2^100", 2), 0.005),
    "3-way of 100": (st.marginals("2^100", 3), 0.02),
    "parities of 20": (st.parity("2^20", 2), 0.005),
    "one table more": (
        st.stack(
            [
                st.marginals("2^20", 2),
                st.kron([(st.histogram if i < 3 else st.total)({f"a{i + 1}": 2}) for i in range(20)]),
            ]
        ),
        0.02,
    ),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize(("workload", "gap"), MARGINALS.values(), ids=MARGINALS)
def test_marginals_of_many_attributes_are_answered_near_the_bound(workload, gap):
    solution = st.optimise(workload, 1.0)
    assert isinstance(solution.strategy, st.strategies.JuntaStrategy)
    assert solution.solver == "Junta"
    assert solution.strategy.epsilon <= 1.0
    assert 0 <= solution.gap <= gap
    assert solution.per_type == (not workload.counted)
    assert solution.baselines[0].objective > solution.objective
    assert solution.accuracy.worst_case_variance == pytest.approx(solution.accuracy.average_variance)
    assert "attributes" in solution.reason


@pytest.mark.exhaustive
def test_ordered_values_are_answered_by_orbits():
    solution = st.optimise(st.all_range(1024), 1.0)
    assert isinstance(solution.strategy, st.strategies.OrbitStrategy)
    assert solution.solver == "Orbit"
    assert 0 <= solution.gap <= 0.005
    assert solution.strategy.epsilon <= 1.0


@pytest.mark.exhaustive
def test_one_command_answers_marginals_of_a_hundred_attributes(capsys, tmp_path):
    out = tmp_path / "big.ldp.json"
    args = ("optimise", "marginals", "--order", 3, "--domain", "2^100", "--epsilon", 1, "-o", out)
    found = run_json(capsys, *args)
    assert found["per_type"] is True
    assert found["gap"] <= 0.042
    assert found["objective"] > found["lower_bound"] > 0
    assert found["epsilon_realised"] <= 1
    assert found["outputs"] <= 2**53
    assert out.stat().st_size < 100_000
    assert st.load_mechanism(out).workload.domain_size == 2**100


def test_a_comparison_over_a_hundred_attributes_says_that_it_is_per_user_type(capsys):
    found = run_json(capsys, "compare", "marginals", "--order", 2, "--domain", "2^100", "--epsilon", 1)
    assert found["per_type"] is True
    by_name = {row["mechanism"]: row["objective"] for row in found["mechanisms"]}
    assert by_name["optimised"] == min(by_name.values())
    assert {"fourier", "marginal-response", "marginal-hadamard"} < set(by_name)
    assert found["bounds"]["best"] <= by_name["optimised"]


def test_a_matrix_too_large_to_write_is_refused_in_one_sentence(capsys, tmp_path):
    args = ("optimise", "marginals", "--domain", "2^100", "--epsilon", 1, "-o", tmp_path / "big.npz")
    assert_refused(capsys, args, "\\.ldp\\.json")


@pytest.mark.parametrize(
    "workload",
    [
        st.kron([st.prefix({"age": 1000}), st.prefix({"income": 1000})]),
        st.explicit(np.eye(3, 30_000)),
    ],
)
def test_large_domains_without_symmetry_are_refused_with_a_way_out(workload):
    with pytest.raises(ValueError, match="symmetry"):
        st.optimise(workload, 1.0)


def test_a_broken_symmetry_falls_back_and_says_so():
    workload = st.kron([st.prefix({"age": 32}), st.histogram({"sex": 2})])
    solution = st.optimise(workload, 1.0, solver=st.Auto(max_seconds=1.0))
    assert isinstance(solution.strategy, st.strategies.Strategy)
    assert math.isfinite(solution.gap)


@pytest.mark.parametrize("objective", ["worst-case", "worst-query"])
def test_other_objectives_are_refused_where_nobody_can_list_the_types(objective):
    with pytest.raises(ValueError, match=r"average|Gram"):
        st.optimise(st.marginals("2^100", 2), 1.0, objective=objective)


@pytest.mark.exhaustive
def test_tables_of_all_attributes_are_answered_by_orbits_over_the_whole_domain():
    solution = st.optimise(st.all_marginals("2^13"), 1.0, st.Auto(max_seconds=20.0))
    assert isinstance(solution.strategy, st.strategies.OrbitStrategy)
    assert "8192 cells" in solution.reason
    assert solution.strategy.epsilon <= 1.0
    assert 0 <= solution.gap <= 0.1


@pytest.mark.parametrize("domain", ["2^20", "2^40", "2^100"])
def test_juntas_refuse_tables_that_no_pattern_covers(domain):
    with pytest.raises(ValueError, match=r"a table of \d+ attributes was asked for"):
        st.optimise(st.all_marginals(domain), 1.0, st.solvers.Junta())
