"""Objectives: a prior, the worst user type and the worst query, each under its own certificate."""

import json
import math

import numpy as np
import pytest

import stratagem as st
from commands import run
from stratagem.estimators import estimator
from stratagem.math.linalg import centre
from stratagem.math.privacy import check_prior
from stratagem.mechanism.export.saved import load
from stratagem.solvers import Certified, search
from stratagem.solvers.problem import Average, WorstCase, WorstQuery, problem_of
from stratagem.solvers.problem.minimax import _value, least_favourable_prior
from tables import WORKLOADS, assert_private, random_ldp_matrix

QUICK = Certified(outputs=400, max_steps=3, restarts=0)
KINDS = ("average", "worst-case", "worst-query")


def random_prior(rng, n, zeros=0):
    p = rng.exponential(size=n) ** 2
    p[rng.permutation(n)[:zeros]] = 0
    return check_prior(p, n)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("name", WORKLOADS)
def test_no_strategy_beats_a_bound_under_any_prior(name, epsilon):
    rng = np.random.default_rng([round(10 * epsilon), *name.encode()])
    workload = WORKLOADS[name](8)
    for zeros in (0, 0, 3):
        p = random_prior(rng, 8, zeros)
        bounds = st.lower_bounds(workload, epsilon, p)
        assert bounds["weighted"].value >= bounds["closed"].value * (1 - 1e-9)
        matrices = [random_ldp_matrix(rng, m, 8, epsilon) for m in (20, 60)]
        for strategy in [
            st.published.randomised_response(8, epsilon),
            *map(st.strategies.MatrixStrategy, matrices),
        ]:
            assert st.evaluate(workload, strategy, p).objective >= bounds.best * (1 - 1e-9)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("name", ["prefix", "all-range", "2-way marginals"])
def test_no_strategy_beats_a_worst_case_bound(name, epsilon):
    rng = np.random.default_rng(3)
    workload = WORKLOADS[name](8)
    asked = {"workload": workload, "epsilon": epsilon}
    skewed = WorstQuery(**asked, prior=random_prior(rng, 8, 2))
    for problem in (WorstCase(**asked), WorstQuery(**asked), skewed):
        bound = problem.lower_bound
        for m in (20, 60):
            strategy = st.strategies.MatrixStrategy(random_ldp_matrix(rng, m, 8, epsilon))
            for reconstruction in (problem.prior, random_prior(rng, 8)):
                assert problem.value(estimator(strategy, reconstruction)) >= bound * (1 - 1e-9)


@pytest.mark.exhaustive
def test_the_prior_bounds_are_bounds_for_their_prior_alone():
    """Negative control: the bound of one prior is broken by a good strategy measured under another."""
    workload, p = st.prefix(8), np.array([0.93, *[0.01] * 7])
    q = p[::-1].copy()
    solution = st.optimise(workload, 1.0, QUICK, prior=q)
    assert solution.objective < st.lower_bounds(workload, 1.0, p).best


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_uniform_prior_is_the_average_case(name):
    workload, u = WORKLOADS[name](16), np.ones(16)
    plain, even = st.lower_bounds(workload, 1.0), st.lower_bounds(workload, 1.0, u)
    assert even["closed"].value == pytest.approx(plain["closed"].value, rel=1e-9)
    assert even["weighted"].value == pytest.approx(plain["weighted"].value, rel=1e-6)
    strategy = st.published.hierarchical(16, 1.0, 2, "randomised")
    ours, usual = st.evaluate(workload, strategy, u / 16), st.evaluate(workload, strategy)
    assert ours.objective == pytest.approx(usual.objective, rel=1e-9)
    np.testing.assert_allclose(ours.per_type, usual.per_type, rtol=1e-9)


@pytest.mark.parametrize("zeros", [0, 3])
def test_a_prior_changes_the_reconstruction_never_its_bias(zeros):
    rng = np.random.default_rng(zeros)
    workload, p = st.prefix(8), random_prior(rng, 8, zeros)
    strategy = st.strategies.MatrixStrategy(random_ldp_matrix(rng, 40, 8, 1.0))
    x = rng.integers(0, 50, 8).astype(float)
    np.testing.assert_allclose(strategy.reconstruct(strategy.forward(x), p), x, atol=1e-7)
    estimated = estimator(strategy, p).estimated_data(strategy.forward(x)[:, None])
    np.testing.assert_allclose(estimated[:, 0], x, atol=1e-7)
    right, usual = st.evaluate(workload, strategy, p), st.evaluate(workload, strategy)
    assert p @ right.per_type < p @ usual.per_type
    assert usual.average_variance < right.average_variance
    mean = 8 * p @ (right.per_type + np.diag(workload.gram()))
    assert right.objective == pytest.approx(mean, rel=1e-9)
    per_query = st.per_query_variance(workload, strategy, x, p)
    assert per_query.sum() == pytest.approx(right.total_variance(x), rel=1e-9)


@pytest.mark.exhaustive
def test_both_kinds_of_strategy_know_priors():
    n = 16
    p = random_prior(np.random.default_rng(n), n, 2)
    strategy = st.optimise(st.prefix(n), 1.0, QUICK).strategy
    C = strategy.centred_information(p)
    np.testing.assert_allclose(C, strategy.dense().centred_information(p), atol=1e-12)
    np.testing.assert_allclose(C @ p, 0, atol=1e-12)
    Q = strategy.dense().matrix
    M = Q.T @ (Q / (n * Q @ p)[:, None])
    np.testing.assert_allclose(C + 1 / n, M, atol=1e-12)
    np.testing.assert_allclose(M @ p * n, 1, atol=1e-12)


CASES = [
    ("prefix", 8, "average", "skewed"),
    ("prefix", 16, "average", "skewed"),
    ("all-range", 16, "average", "zeros"),
    ("histogram", 16, "average", "skewed"),
    ("prefix", 16, "worst-case", None),
    ("all-range", 16, "worst-case", None),
    ("2-way marginals", 8, "worst-case", None),
    ("prefix", 16, "worst-query", None),
    ("prefix", 16, "worst-query", "skewed"),
    ("all-range", 8, "worst-query", None),
]


def prior_of(word, n):
    skewed = np.arange(1, n + 1) ** 2
    return {None: None, "skewed": skewed, "zeros": np.where(np.arange(n) % 3 == 0, 0, skewed)}[word]


@pytest.mark.sampled(12, 2)
@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(map(str, case)))
def test_solutions_are_certified(case):
    name, n, kind, word = case
    workload, prior = WORKLOADS[name](n), prior_of(word, n)
    solution = st.optimise(workload, 1.0, QUICK, objective=kind, prior=prior)
    assert_private(solution.strategy, 1.0)
    assert solution.objective_kind == kind
    assert solution.objective >= solution.lower_bound * (1 - 1e-9)
    assert solution.gap <= 0.03
    assert all(solution.objective <= one.objective for one in solution.baselines)
    # measured again from the matrix, by another route
    dense, p = solution.strategy.dense(), np.full(n, 1 / n) if prior is None else prior / prior.sum()
    again = st.evaluate(workload, dense, solution.prior)
    queries = st.per_query_variance(workload, dense, p, solution.prior)
    values = {"average": again.objective, "worst-case": again.per_type.max(), "worst-query": queries.max()}
    assert solution.objective == pytest.approx(values[kind], rel=1e-8)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["histogram", "prefix", "all-range", "all-marginals", "parity"])
def test_the_worst_case_is_at_most_that_of_the_average_case(name):
    workload = WORKLOADS[name](16)
    worst, usual = (st.optimise(workload, 1.0, QUICK, objective=kind) for kind in ("worst-case", "average"))
    assert worst.objective <= usual.accuracy.worst_case_variance
    assert worst.gap <= 0.02


NEAR = [
    ("prefix", 8, "worst-case", 1.0),
    ("all-range", 8, "worst-query", 1.0),
    ("prefix", 16, "worst-case", 4.0),
    ("all-range", 16, "worst-case", 4.0),
    ("prefix", 16, "worst-query", 4.0),
    ("histogram", 16, "worst-query", 4.0),
    ("2-way marginals", 16, "worst-case", 1.0),
    ("all-range", 64, "worst-case", 4.0),
]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("case", NEAR, ids=lambda case: " ".join(map(str, case)))
def test_the_adversary_and_the_answers_meet(case):
    name, n, kind, epsilon = case
    assert st.optimise(WORKLOADS[name](n), epsilon, objective=kind).gap <= 0.01


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("n", "kind", "epsilon"), [(8, "worst-case", 4.0), (16, "worst-query", 1.0)])
def test_the_adversary_and_the_answers_meet_for_random_queries(n, kind, epsilon):
    workload = st.explicit(np.random.default_rng(n).standard_normal((n // 2 + 3, n)))
    assert st.optimise(workload, epsilon, objective=kind).gap <= 0.01


@pytest.mark.exhaustive
def test_the_worst_case_at_64_types():
    workload, solver = st.prefix(64), Certified(outputs=512, max_steps=2, updates=20, gap=0.018, restarts=0)
    worst, usual = (st.optimise(workload, 1.0, solver, objective=kind) for kind in ("worst-case", "average"))
    assert worst.objective <= usual.accuracy.worst_case_variance
    assert worst.gap <= 0.02


@pytest.mark.exhaustive
def test_a_prior_pays_where_it_is_right():
    workload, prior = st.prefix(16), prior_of("skewed", 16)
    ours, usual = (st.optimise(workload, 1.0, QUICK, prior=p) for p in (prior, None))
    p = prior / prior.sum()
    assert p @ ours.accuracy.per_type < 0.98 * (p @ usual.accuracy.per_type)


def test_the_least_favourable_prior_is_uniform_under_symmetry_and_no_worse_otherwise():
    for name, make in WORKLOADS.items():
        V = make(16).gram()
        p = least_favourable_prior(V, 1.0)
        assert p.sum() == pytest.approx(1)
        if name not in ("prefix", "all-range"):
            np.testing.assert_allclose(p, 1 / 16, rtol=1e-6)
    for epsilon in (1.0, 3.0):
        problem = WorstCase(workload=st.prefix(16), epsilon=epsilon)
        case = problem.mixed(least_favourable_prior(problem.gram, epsilon))
        found = case.bounds["weighted"].value - case.offset
        assert found > problem.even.bounds["weighted"].value - problem.even.offset


def test_the_slopes_of_the_bound():
    rng = np.random.default_rng(0)
    V, n = centre(st.prefix(7).gram()), 7
    p, gamma = rng.dirichlet(np.full(n, 20.0)), rng.dirichlet(np.full(n, 20.0))
    d = rng.standard_normal(n)
    d, tilt, h = d - d.mean(), np.outer(d, d), 1e-6
    at = _value(V, p, gamma, 1.0)
    moves = {
        "prior": (at.prior @ d, lambda t: _value(V, p + t * d, gamma, 1.0)),
        "gamma": (at.gamma @ d, lambda t: _value(V, p, gamma + t * d, 1.0)),
        "gram": ((at.gram * tilt).sum(), lambda t: _value(V + t * tilt, p, gamma, 1.0)),
    }
    for slope, moved in moves.values():
        assert slope == pytest.approx((moved(h).value - moved(-h).value) / (2 * h), rel=1e-5)


def test_the_weighted_problem_is_solved_to_its_optimum():
    """With all patterns of a small domain the multipliers prove it: no pattern has a positive score."""
    workload, p = st.prefix(8), random_prior(np.random.default_rng(5), 8, 1)
    problem = Average(workload=workload, epsilon=1.0, prior=p)
    best = search(Certified(max_steps=30, tolerance=1e-7), problem, lower_bound=1.0).best
    codes = (np.arange(1, 255)[:, None] >> np.arange(8)) & 1
    S = 1 + (np.e - 1) * codes
    Q = Certified().finish(problem, best).dense().matrix
    M = Q.T @ (Q / (8 * Q @ p)[:, None])
    G = np.linalg.solve(M, np.linalg.solve(M, workload.gram()).T)
    energy = np.einsum("si,ij,sj->s", S, G, S) / (8 * S @ p)
    # the dual: minimise 1^T lambda under S lambda >= energy; 2 L - 1^T lambda bounds L from below
    from scipy.optimize import linprog

    dual = linprog(np.ones(8), A_ub=-S, b_ub=-energy, bounds=[(None, None)] * 8)
    assert dual.fun <= best.objective * (1 + 1e-3)


@pytest.mark.parametrize(
    ("prior", "fragment"),
    [
        (np.ones(7), r"shape \(7,\)"),
        (np.ones((2, 4)), r"shape \(2, 4\)"),
        (-np.ones(8), "at least zero"),
        (np.zeros(8), "not all of them zero"),
        (np.full(8, np.nan), "finite"),
        (np.array([np.inf] + [1.0] * 7), "finite"),
        (["a"] * 8, "must hold 8 numbers"),
        ([[1], [1, 2]], "must hold 8 numbers"),
    ],
)
def test_bad_priors_are_refused(prior, fragment):
    with pytest.raises(ValueError, match=fragment):
        st.optimise(st.prefix(8), 1.0, prior=prior)


def test_counts_and_probabilities_are_the_same_prior():
    counts = np.array([3, 0, 1, 0])
    np.testing.assert_array_equal(check_prior(counts, 4), [0.75, 0, 0.25, 0])
    np.testing.assert_allclose(check_prior(counts * 1e-320, 4), [0.75, 0, 0.25, 0], rtol=1e-2)
    np.testing.assert_allclose(check_prior(counts * 5e307, 4), [0.75, 0, 0.25, 0])


@pytest.mark.parametrize(
    ("options", "fragment"),
    [
        ({"objective": "best"}, "must be one of average, worst-case, worst-query"),
        ({"objective": "worst-case", "prior": np.ones(8)}, "leave the prior out"),
        (
            {"prior": np.ones(8), "solver": st.ProjectedGradient()},
            r"use the certified solver, st.Certified\(\)",
        ),
        ({"objective": "worst-query", "solver": st.ProjectedGradient()}, "use the certified solver"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(options, fragment):
    with pytest.raises(ValueError, match=fragment):
        st.optimise(st.prefix(8), 1.0, **options)


def test_too_many_queries_to_list_are_refused():
    with pytest.raises(ValueError, match="lists at most"):
        st.optimise(st.all_range(512), 1.0, objective="worst-query")


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", KINDS)
def test_trivial_workloads(kind):
    for workload in (st.total(8), st.histogram(1)):
        solution = st.optimise(workload, 1.0, QUICK, objective=kind)
        assert solution.gap == pytest.approx(0, abs=1e-8)
    with pytest.raises(ValueError, match="must be one of"):
        problem_of(st.total(8), 1.0, kind + "s")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("outputs", [8, 14, 400])
def test_no_baseline_within_the_outputs_asked_for_is_better(outputs):
    prior, solver = np.arange(1, 9), Certified(outputs=outputs, max_steps=1, updates=1)
    solution = st.optimise(st.prefix(8), 1.0, solver, prior=prior)
    within = [one for one in solution.baselines if (one.strategy.outputs or math.inf) <= outputs]
    assert solution.strategy.outputs <= outputs
    assert solution.objective <= min(one.objective for one in within)
    # from 14 rows on no baseline at all is better
    assert outputs == 8 or solution.objective <= min(one.objective for one in solution.baselines)


SMALL = ("optimise", "prefix", "--domain", "8", "--epsilon", "1", "--json")


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_line_takes_an_objective(capsys, kind):
    status, out, _ = run(capsys, *SMALL, "--objective", kind, "--solver", "certified")
    data = json.loads(out)
    assert (status, data["objective_kind"]) == (0, kind)
    assert data["gap"] == pytest.approx(data["objective"] / data["lower_bound"] - 1)
    if kind == "worst-case":
        assert data["objective"] == pytest.approx(data["worst_case_variance"])


@pytest.mark.parametrize("suffix", [".npy", ".csv", "-column.csv"])
def test_the_command_line_reads_a_prior_and_saves_it_with_the_strategy(capsys, tmp_path, suffix):
    path, counts = tmp_path / f"ages{suffix}", np.arange(1.0, 9.0)
    if suffix == ".npy":
        np.save(path, counts)
    else:
        np.savetxt(path, counts[None] if suffix == ".csv" else counts, delimiter=",")
    saved = tmp_path / "s.npz"
    status, out, _ = run(capsys, *SMALL, "--prior", path, "-o", saved)
    assert status == 0
    stored, p = load(saved), counts / counts.sum()
    np.testing.assert_allclose(stored.prior, p)
    value = st.evaluate(stored.workload, stored.strategy, stored.prior).objective
    assert value == pytest.approx(json.loads(out)["objective"], rel=1e-9)


def test_a_wrong_prior_file_is_one_sentence(capsys, tmp_path):
    np.save(tmp_path / "p.npy", np.ones(5))
    status, out, err = run(capsys, *SMALL, "--prior", tmp_path / "p.npy")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "must hold 8 numbers" in err
    assert "p.npy" in err
