"""Strategies behind a shuffler against the convex programme over all patterns, and against exact laws."""

import itertools
import math
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

import stratagem as st
from shuffled_laws import divergence, law
from stratagem.bounds.constrained import limited_bound
from stratagem.estimators import estimator
from stratagem.math.shuffling import Target
from stratagem.solvers.limited import search_shuffled
from stratagem.study import shuffling
from stratagem.study.shuffling import OWN, SAFE

TARGET = Target(0.05, 1e-6, 10_000)


def shuffled(workload, epsilon, users, delta=1e-6, **options):
    return st.optimise(workload, epsilon, constraints=[st.Shuffled(users, delta)], **options)


def reached(solution, blanket=None):
    """Return whether a solution has the central epsilon asked for, or a blanket does."""
    target = solution.problem.constraints[0].target(solution.epsilon)
    return target.reached(blanket or solution.strategy.blanket)


def optimum(workload, epsilon, apart):
    """Return the least tr(M^-1 V) over all 2^n patterns, no pair of types held apart by more than `apart`."""
    V, n, c = workload.gram(), workload.domain_size, math.expm1(epsilon)
    B = np.array(list(itertools.product([0, 1], repeat=n)), dtype=float)
    S = 1 + c * B
    theta = cp.Variable(len(B), nonneg=True)
    M = sum(theta[y] * np.outer(S[y], S[y]) / S[y].sum() for y in range(len(B)))
    F = np.linalg.cholesky(V + 1e-12 * np.eye(n))
    pairs = [B[:, u] * (1 - B[:, v]) @ theta <= apart for u, v in itertools.permutations(range(n), 2)]
    cost = sum(cp.matrix_frac(F[:, j], M) for j in range(n))
    return cp.Problem(cp.Minimize(cost), [S.T @ theta == 1, *pairs]).solve(solver=cp.CLARABEL)


CASES = {"histogram": st.histogram(5), "prefix": st.prefix(5), "all-range": st.all_range(4)}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("epsilon", [1.5, 2.5])
@pytest.mark.parametrize("name", CASES)
def test_the_search_finds_the_optimum_of_all_patterns_and_the_bound_is_below(name, epsilon):
    workload = CASES[name]
    apart = TARGET.apart(epsilon)
    least = optimum(workload, epsilon, apart)
    *_, found = search_shuffled(workload.gram(), epsilon, TARGET, 3, np.random.default_rng(1))
    assert TARGET.reached(found.blanket)
    assert found.epsilon == pytest.approx(epsilon)
    value = estimator(found).objective(workload)
    assert least * (1 - 1e-5) <= value <= least * 1.01
    assert limited_bound(workload, epsilon, apart=apart) <= least * (1 + 1e-6)
    assert limited_bound(workload, epsilon, apart=apart) >= 0.7 * least


def test_the_control_a_bound_for_half_as_much_is_above_the_optimum():
    workload, epsilon = CASES["histogram"], 1.5
    apart = TARGET.apart(epsilon)
    assert limited_bound(workload, epsilon, apart=apart / 2) > optimum(workload, epsilon, apart)


@pytest.mark.parametrize("epsilon", [1.8, 2.5, 4.0])
def test_no_strategy_that_reaches_the_target_holds_a_pair_farther_apart(epsilon):
    E, apart = math.exp(epsilon), TARGET.apart(epsilon)
    farther = 1.001 * apart
    for mass in np.linspace(2 / (E + 1), 1, 9):
        told = st.central.PrivacyBlanket(E, (E - 1) * farther, min(mass, 1 - (E - 1) * farther))
        assert not TARGET.reached(told)
    near = 0.9998 * apart
    assert TARGET.reached(st.central.PrivacyBlanket(E, (E - 1) * near, 1 - (E - 1) * near))


@pytest.fixture(scope="module")
def design():
    return shuffled(st.histogram(8), 0.05, 10_000)


@pytest.mark.exhaustive
def test_a_design_holds_what_it_says_and_beats_both_other_ways(design):
    assert reached(design)
    assert design.strategy.blanket.delta(0.05, 10_000) <= 1e-6
    assert design.objective < 0.85 * design.others[OWN].objective
    assert design.others[OWN].objective < 0.75 * design.others[SAFE].objective
    assert design.others[OWN].shuffled(10_000).epsilon <= 0.05
    assert design.others[SAFE].shuffled(10_000).generic <= 0.05 * (1 + 2e-3)
    assert 0 <= design.gap < 1e-3
    for words in (
        "tell about one of them at most",
        "answers are typically off by 1 % of them",
        "safe for every mechanism",
        "above the proven minimum",
    ):
        assert words in str(design)


@pytest.mark.exhaustive
def test_the_control_a_little_more_information_breaks_the_promise(design):
    blanket = design.strategy.blanket
    more = replace(blanket, distance=1.01 * blanket.distance)
    assert not reached(design, more)


@pytest.mark.exhaustive
def test_its_mechanism_in_whole_numbers_holds_it_too(design, tmp_path):
    mechanism = design.mechanism(name="histogram")
    mechanism.save(tmp_path / "found.ldp.json")
    again = st.load_mechanism(tmp_path / "found.ldp.json")
    assert again.shuffled(10_000).epsilon <= 0.05 * (1 + 1e-4)
    assert again.strategy.blanket.delta(0.05, 10_000) <= 1e-6
    assert estimator(again.strategy).objective(design.workload) == pytest.approx(design.objective, rel=1e-5)


@pytest.mark.exhaustive
def test_five_users_reports_are_as_private_as_it_says():
    design = shuffled(st.histogram(3), 0.8, 5, 0.01)
    Q = design.strategy.dense().matrix
    for others in itertools.combinations_with_replacement(range(3), 4):
        laws = [law(Q, (*others, u)) for u in range(3)]
        assert all(divergence(*pair, 0.8) <= 0.01 for pair in itertools.permutations(laws, 2))


@pytest.mark.exhaustive
def test_a_search_that_is_ended_keeps_the_best(monkeypatch):
    records = []
    found = shuffled(st.prefix(6), 0.1, 1000, on_step=lambda step: records.append(step) or True)
    assert len(records) == 1
    assert found.objective == min(records[0].best, found.others[OWN].objective)

    def interrupted(*_):
        raise KeyboardInterrupt

    kept = shuffled(st.prefix(6), 0.1, 1000, on_step=interrupted)
    assert reached(kept)


def test_above_the_largest_domain_only_the_local_budget_is_chosen(monkeypatch):
    monkeypatch.setattr(shuffling, "LARGEST", 6)
    found = shuffled(st.histogram(8), 0.1, 1000)
    assert found.objective == found.others[OWN].objective
    assert reached(found)


@pytest.mark.exhaustive
def test_one_user_has_no_others_to_hide_among():
    found = shuffled(st.histogram(3), 1.0, 1)
    assert found.objective == pytest.approx(st.optimise(st.histogram(3), 1.0).objective, rel=2e-2)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("n", "delta"), [(2, 1e-6), (3, 1e-15)])
def test_few_values_and_a_tiny_delta_have_answers(n, delta):
    found = shuffled(st.histogram(n), 1.0, 10, delta)
    assert reached(found)
    assert found.gap >= -1e-9


@pytest.mark.parametrize(
    ("epsilon", "users", "delta", "words"),
    [
        (0, 10, 1e-6, "central epsilon is 0"),
        (11, 10, 1e-6, "at most the local one, 10"),
        (math.nan, 10, 1e-6, "central epsilon"),
        ("1", 10, 1e-6, "central epsilon is '1'"),
        (0.1, 0, 1e-6, "number of users is 0"),
        (0.1, 2.5, 1e-6, "number of users is 2.5"),
        (0.1, 10, 1.0, "delta is 1.0"),
    ],
)
def test_bad_numbers_are_refused_in_a_sentence(epsilon, users, delta, words):
    with pytest.raises(ValueError, match=words):
        shuffled(st.prefix(4), epsilon, users, delta)
