"""Queries of very different sizes and queries with large means, through every door: right variances, or a refusal."""

import numpy as np
import pytest

import stratagem as st
from stratagem.estimators import estimator
from stratagem.published.baseline import Baseline
from stratagem.solvers.problem import problem_of
from stratagem.strategies.two_level import two_levels
from stratagem.study.ranking import rank_baselines

MIXED = {
    "one of a million": np.diag([1e6, 1.0, 1.0, 1.0]),
    "a product of 1e12": np.diag([1e-6, 1.0, 1e6, 1e3]),
    "a small one alone": np.array([[1.0, 0, 0, 0], [0, 0, 1e5, 2e5]]),
    "incomes above counts": np.array(
        [[1000.0, 5000, 10000, 25000], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    ),
    "many types": np.vstack([1e9 * np.arange(16.0) ** 2, np.eye(16)]),
}
DATA = np.array([1000, 2000, 3000, 4000])


@pytest.mark.parametrize("name", MIXED)
def test_no_query_is_left_out_because_others_outweigh_it(name):
    """The variance of a query is that of an unbiased estimate, and the objective is near the proven optimum."""
    W = MIXED[name]
    solution = st.optimise(W, 1.0, seconds=5)
    Q = solution.strategy.dense().matrix
    R = np.linalg.pinv(Q)  # a left inverse on the row space, whatever its variance
    unit = W / np.linalg.norm(W, axis=1, keepdims=True)
    assert unit @ R @ Q == pytest.approx(unit, abs=1e-8)
    assert solution.gap <= 5e-3
    variances = st.per_query_variance(solution.workload, solution.strategy, np.ones(W.shape[1]))
    assert variances.sum() == pytest.approx(solution.accuracy.per_type.sum(), rel=1e-9)
    least = np.ptp(W, axis=1) ** 2 / (4 * np.sinh(0.5) ** 2)  # for a user of the worst of two types
    assert (estimator(solution.strategy).largest(solution.workload) >= least * (1 - 1e-9)).all()


def test_small_queries_are_estimated_without_bias():
    """The mean of 400 estimates is within 4.9 standard errors of the truth: 1 false alarm in 250,000."""
    solution = st.optimise(MIXED["one of a million"], 1.0)
    rng, runs = np.random.default_rng(5), 400
    answers = np.array(
        [
            st.estimate(solution.strategy, solution.strategy.histogram(DATA, rng), solution.workload).answers
            for _ in range(runs)
        ]
    )
    stated = np.sqrt(st.per_query_variance(solution.workload, solution.strategy, DATA) / runs)
    truth = MIXED["one of a million"] @ DATA
    assert (np.abs(answers.mean(axis=0) - truth) <= 4.9 * stated).all()
    assert (np.abs(answers.mean(axis=0) - np.roll(truth, 1)) > 4.9 * stated).any()  # the control


def alike() -> np.ndarray:
    """A matrix for four types that treats the last two alike."""
    E = np.e
    rows = np.array([[E, 1, 1, 1], [1, E, E, E], [1, E, 1, 1], [E, 1, E, E]]) / (1 + E) / 2
    return rows / rows.sum(axis=0)


@pytest.mark.parametrize("ratio", [1.0, 1e3, 25e3, 35e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize(
    "kind",
    [st.strategies.MatrixStrategy, lambda Q: two_levels(st.strategies.MatrixStrategy(Q))],
    ids=["matrix", "bits"],
)
def test_what_a_strategy_cannot_tell_apart_is_refused_at_any_weight(ratio, kind):
    strategy, workload = kind(alike()), st.explicit([[ratio, 0, 0, 0], [0, 0, 1.0, 2.0]])
    for refused in (
        lambda: st.evaluate(workload, strategy),
        lambda: st.per_query_variance(workload, strategy, np.ones(4)),
        lambda: estimator(strategy).largest(workload),
        lambda: st.estimate(strategy, np.arange(1, 5), workload),
        lambda: st.mechanism.import_matrix(strategy.dense().matrix, workload, 1.0),
    ):
        with pytest.raises(
            st.UnsupportedWorkloadError, match=r"cannot answer query 1 of 2, 'query 1'.*types 2 and 3"
        ):
            refused()
    assert st.evaluate(st.explicit([[ratio, 0, 0, 0], [0, 0, 1.0, 1.0]]), strategy).objective > 0


@pytest.mark.parametrize("ratio", [1.0, 1e5, 1e12])
def test_what_a_protocol_cannot_tell_apart_is_refused_at_any_weight(ratio):
    protocol = st.published.duchi([0.0, 1.0, 2.0, 2.0], 1.0)
    workload = st.explicit([[0.0, ratio, 2 * ratio, 2 * ratio], [0, 0, 1.0, 2.0]])
    with pytest.raises(st.UnsupportedWorkloadError, match="cannot answer query 1 of 2"):
        st.evaluate(workload, protocol)


OFFSETS = [0.0, 1e3, 1e7, 1e8, 1e9]


@pytest.mark.parametrize("offset", OFFSETS)
def test_a_common_offset_changes_no_variance(offset):
    """The number of users is known exactly: 7.5562 is randomised response on the histogram of four, 18,891 users."""
    solution = st.optimise(np.eye(4) + offset, 1.0)
    assert solution.accuracy.average_variance == pytest.approx(7.5562229, rel=1e-7)
    assert solution.users_for(0.01).root_mean_square == 18_891
    assert solution.least_variance == pytest.approx(7.5562229, rel=1e-5)
    assert 0 <= solution.gap <= 1e-6
    V = (np.eye(4) + offset).T @ (np.eye(4) + offset)
    assert solution.objective == pytest.approx(V.sum() / 4 + 33.22489156, rel=1e-10)
    assert solution.lower_bound <= solution.objective
    compared = st.Comparison.of(solution)
    assert compared.fewest_users == pytest.approx(7.5562229 / 4 / 0.01, rel=1e-5)
    counts = solution.strategy.histogram(DATA, np.random.default_rng(1))
    found = st.estimate(solution.strategy, counts, solution.workload)
    plain = st.estimate(solution.strategy, counts, st.histogram(4))
    assert found.standard_errors == pytest.approx(plain.standard_errors, rel=1e-6)
    assert found.answers - offset * DATA.sum() == pytest.approx(
        plain.answers, abs=1e-3 + 1e-12 * offset * DATA.sum()
    )


@pytest.mark.parametrize(("start", "step"), [(0.0, 1.0), (1.7e9, 60.0), (1.7e9, 3600.0)])
def test_the_mean_of_dates_is_that_of_steps(start, step):
    solution = st.optimise(st.mean(start + step * np.arange(6)), 1.0)
    assert solution.accuracy.average_variance / step**2 == pytest.approx(24.62, abs=0.01)
    assert solution.gap <= 1e-3


@pytest.mark.sampled(3)
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize(
    "queries",
    [
        [[1000.0, 5000, 10000, 25000], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]],
        np.ones((1, 4)) + 1e-6 * np.arange(4),
        [[1, 2, 0, 2, 2, 2], [3, 1, 0, 1, 1, 1], [0, 1, 1, 1, 1, 1]],
        [1.7e9 + 3600 * np.arange(6)],
    ],
)
def test_valid_queries_end_in_a_certified_strategy(queries, epsilon):
    """A published mechanism that leaves double precision ends no run; warnings are errors in these tests."""
    assert 0 <= st.optimise(np.asarray(queries, dtype=float), epsilon, seconds=5).gap <= 5e-3


def test_a_mean_of_incomes_stands_on_a_histogram():
    workload = st.stack([st.mean([1000.0, 5000.0, 10000.0, 250000.0]), st.histogram(4)])
    found = st.compare(workload, 1.0)
    assert found.rows[0].optimised
    assert found.compared["optimised"].gap <= 5e-3


def test_a_mechanism_that_fails_numerically_is_named():
    found = st.compare([[1000.0, 5000, 10000, 25000], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], 1.0)
    assert all(name not in found.compared for name in found.failed)
    broken = Baseline(
        "broken", "fails", "@stratagem", lambda *_: iter([("", np.linalg.cholesky(-np.eye(2)))])
    )
    ranked = rank_baselines(problem_of(st.prefix(4), 1.0), [broken])
    assert (tuple(ranked), ranked.failed) == ((), ("broken",))
