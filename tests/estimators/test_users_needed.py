"""Users needed: exact at every user type for every query, and one user fewer is not enough."""

import math
import re

import numpy as np
import pytest
from test_junta_accuracy import INVARIANT

import stratagem as st
from stratagem.estimators import Users, ask, comparable, estimator, goal, mean_variance, users_needed
from stratagem.estimators.translation.largest import largest_by_table
from stratagem.published import BASELINES
from stratagem.solvers.problem import problem_of
from stratagem.study.needed import fewer_users
from stratagem.study.summary import bound_sentences, fewest_users
from tables import WORKLOADS, random_ldp_matrix, setting


def definition(W: np.ndarray, Q: np.ndarray, p: np.ndarray | None = None) -> np.ndarray:
    """Var(w_i R e_y | u) (p x n), word for word."""
    D = Q.sum(axis=1) if p is None else len(Q.T) * Q @ p
    M = Q.T @ (Q / D[:, None])
    R = np.linalg.pinv(M, rcond=1e-12) @ (Q / D[:, None]).T
    return np.square(W @ R) @ Q - np.square(W)


@pytest.mark.parametrize("seed", range(12))
def test_the_stated_users_are_enough_for_every_answer_and_one_fewer_is_not(seed):
    """Standard errors of all queries at every vertex, as `per_query_variance` states them for so many users."""
    rng = np.random.default_rng(seed)
    n, error = int(rng.integers(2, 7)), (0.01, 0.2)[seed % 2]
    W = st.explicit(rng.integers(-2, 3, (int(rng.integers(1, 6)), n)) + rng.random((1, n)))
    strategy = st.strategies.MatrixStrategy(random_ldp_matrix(rng, n + 4, n, rng.uniform(0.2, 3.0)))
    most = estimator(strategy).largest(W)
    assert most == pytest.approx(definition(W.matrix(), strategy.matrix).max(axis=1), rel=1e-6)
    mean = st.evaluate(W, strategy).worst_case_variance / W.queries

    def reached(users: int, *, single: bool) -> bool:
        shares = []
        for u in range(n):
            x = np.zeros(n)
            x[u] = users
            variances = st.per_query_variance(W, strategy, x)
            shares.append(math.sqrt(variances.max() if single else variances.mean()) / users)
        return max(shares) <= error * (1 + 1e-9)

    for single, needed in ((False, users_needed(mean, error)), (True, users_needed(most.max(), error))):
        assert reached(needed, single=single)
        assert needed == 1 or not reached(needed - 1, single=single)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_every_published_mechanism_has_its_largest_variances(name, epsilon):
    """Protocols, whose estimator is their own, against one type after the other."""
    W = WORKLOADS[name](8)
    for baseline in BASELINES:
        for _, strategy in list(baseline.candidates(setting(W), epsilon))[:2]:
            try:
                columns = [st.per_query_variance(W, strategy, x) for x in np.eye(8)]
            except st.UnsupportedWorkloadError:
                with pytest.raises(st.UnsupportedWorkloadError):
                    estimator(strategy).largest(W)
                continue
            found = estimator(strategy).largest(W)
            expected = np.max(columns, axis=0)
            assert found == pytest.approx(expected, rel=1e-7, abs=1e-9 * (1 + expected.max())), baseline.name


def test_a_prior_chooses_the_estimator(rng):
    strategy, W = st.strategies.MatrixStrategy(random_ldp_matrix(rng, 9, 5, 1.0)), st.prefix(5)
    prior = rng.dirichlet(np.ones(5))
    found = estimator(strategy, prior).largest(W)
    assert found == pytest.approx(definition(W.matrix(), strategy.matrix, prior).max(axis=1))
    assert np.abs(found - estimator(strategy).largest(W)).max() > 1e-3 * found.max()


@pytest.mark.parametrize(("workload", "strategy"), INVARIANT.values(), ids=INVARIANT)
def test_translates_have_the_variances_of_their_matrix(workload, strategy):
    expected = estimator(strategy.dense()).largest(workload)
    assert largest_by_table(workload, strategy) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert estimator(strategy).largest(workload) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_histogram_on_a_window_has_the_variances_of_the_estimator_that_runs():
    """Least variance on short windows; on longer ones r_b^ = x_b^/m on the cycle, by second moments of its scores."""
    cycle, n, E = 11, 7, math.e
    inside = np.arange(cycle) < 3
    strategy = st.strategies.OrbitStrategy(
        (n,), (cycle,), (st.strategies.Pattern.of((0,), inside),), np.ones(1), E
    )
    x = np.where(inside, E, 1.0) / (8 + 3 * E)
    score = np.fft.ifft(1 / np.conj(np.fft.fft(x))).real
    shifts = np.arange(cycle)
    Q = np.array([[x[(u - g) % cycle] for u in range(n)] for g in shifts])
    R = np.array([[score[(c - g) % cycle] for g in shifts] for c in range(n)])
    assert pytest.approx(np.eye(n)) == R @ Q
    expected = (np.square(R) @ Q - np.eye(n)).max(axis=1)
    weighted = st.weighted(st.histogram(n), 2.0)
    assert largest_by_table(weighted, strategy) == pytest.approx(4 * expected)
    for workload in (st.histogram(n), st.prefix(n)):
        least = definition(workload.matrix(), strategy.dense().matrix).max(axis=1)
        assert estimator(strategy).largest(workload) == pytest.approx(least)
    with pytest.raises(ValueError, match="window of longer cycles"):
        largest_by_table(st.explicit(np.eye(n)[:2]), strategy)


def test_too_many_queries_are_refused_in_a_sentence():
    """The sum over queries stays known where single ones are not."""
    with pytest.raises(ValueError, match="takes too long: ask for fewer") as refused:
        estimator(st.published.randomised_response(2000, 1.0)).largest(st.all_range(2000))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("variance", "error", "needed"),
    [(0.0, 0.01, 1), (8 + 8e-15, 0.01, 80_000), (8.0001, 0.01, 80_001), (1e20, 0.5, 4 * 10**20)],
)
def test_users_are_whole_and_noise_is_none(variance, error, needed):
    assert users_needed(variance, error) == needed


@pytest.mark.parametrize("error", [0, -1, 1e-300, 1e300, math.nan, math.inf, "1 %", None, True])
def test_an_error_is_a_positive_number(error):
    with pytest.raises(ValueError, match="standard error"):
        users_needed(1.0, error)


def test_a_solution_on_2_to_the_100_user_types_says_both():
    """All pairs of a hundred attributes: cells of pairs are the least accurate, a little above the mean."""
    solution = st.optimise(st.marginals("2^100", 2), 1.0, st.solvers.Junta(max_steps=1))
    mean, single = solution.users_for(0.01)
    assert mean == math.ceil(solution.samples_for(0.01**2))
    assert mean < single < 1.1 * mean
    assert solution.users_for(0.1).least_accurate == math.ceil(solution.largest_variance / 0.01)


def test_the_control_the_mean_is_not_enough_for_the_least_accurate_answer():
    """What was said of an answer before held for the root mean square alone."""
    solution = st.optimise(st.prefix(6), 1.0)
    users = solution.users_for()
    assert solution.largest_variance / users.root_mean_square > 1.2 * 0.01**2
    assert solution.largest_variance / users.least_accurate <= 0.01**2 * (1 + 1e-9)
    assert f"Ask {users.least_accurate:,} and every one" in ask(users, solution.workload)[1]


def test_where_single_answers_are_too_many_it_is_said():
    assert estimator(st.published.randomised_response(2000, 1.0)).worst(st.all_range(2000)) is None
    assert ask(Users(10, None), st.all_range(2000))[1].startswith("Single answers may take more people")
    assert ask(Users(1, 1), st.prefix(3))[0].startswith("Ask 1 person: ")
    with pytest.raises(st.UnsupportedWorkloadError):
        estimator(st.strategies.MatrixStrategy(np.full((2, 3), 0.5))).worst(st.histogram(3))


HOURS = [[0.0, 20.0, 38.0, 40.0, 45.0, 60.0]]
MIXED = {
    "a stack": lambda: st.stack([st.histogram(6), st.explicit(HOURS)]),
    "a stack with the total": lambda: st.stack([st.total(6), st.histogram(6), st.explicit(HOURS)]),
    "rows": lambda: st.explicit(np.vstack([np.eye(6), HOURS])),
    "rows with the total": lambda: st.explicit(np.vstack([np.ones((1, 6)), np.eye(6), HOURS])),
}


@pytest.mark.parametrize("name", MIXED)
def test_of_queries_in_several_units_those_that_count_users_need_users(name):
    """A mean error over counts and hours was called a share of all users."""
    W, strategy = MIXED[name](), st.published.randomised_response(6, 1.0)
    counts = st.histogram(6)
    assert comparable(W).matrix().tolist() == np.eye(6).tolist()
    accuracy = st.evaluate(W, strategy)
    mean = mean_variance(W, estimator(strategy), accuracy)
    assert mean == pytest.approx(st.evaluate(counts, strategy).worst_case_variance / 6, rel=1e-9)
    assert mean < 0.01 * accuracy.worst_case_variance / W.queries
    assert (
        goal(W) == f"a standard error of 1 % of all people in the 6 of {W.queries} queries that count people"
    )
    solution = st.optimise(W, 1.0, seconds=0.5)
    most = estimator(solution.strategy, solution.prior).worst(counts)
    assert solution.users_for().least_accurate == users_needed(most)
    assert f"the 6 of {W.queries} answers that count people are" in str(solution)
    alone = problem_of(comparable(W), 1.0)
    (least,) = re.findall(r"\nproven minimum +([\d,]+)\n", str(solution))
    assert least == f"{fewest_users(alone, alone.bounds):,}"
    assert "people" not in bound_sentences(solution.problem, solution.bounds)


@pytest.mark.parametrize("weight", [1e-3, 3.0, 1e3])
def test_a_weight_does_not_change_the_users_that_a_count_needs(weight):
    workload = st.stack([st.weighted(st.histogram(4), weight), st.total(4)])
    assert comparable(workload).queries == 4
    plain = st.optimise(st.histogram(4), 1.0).users_for()
    assert st.optimise(st.weighted(st.histogram(4), weight), 1.0).users_for() == plain


@pytest.mark.parametrize(
    ("workload", "counts"),
    [
        (st.prefix(4), True),
        (st.kron([st.prefix(2), st.histogram(2)]), True),
        (st.explicit(HOURS), False),
        (st.weighted(st.explicit(HOURS), 3.0), False),
        (st.kron([st.explicit(HOURS), st.total(2)]), False),
        (st.stack([st.explicit(HOURS), st.total(6)]), False),
    ],
)
def test_queries_of_one_unit_are_all_comparable(workload, counts):
    assert comparable(workload) is workload
    assert goal(workload).endswith("1 % of all people" if counts else "in the units of the queries")


@pytest.mark.exhaustive
def test_the_worst_case_as_objective_is_advised_where_it_needs_fewer_users():
    """The average of prefix(16) at epsilon 4 needs more than hierarchical does, the worst case a quarter fewer."""
    solution = st.optimise(st.prefix(16), 4.0, "quick")
    said = fewer_users(solution)
    assert said.startswith("with the objective worst-case 1,1")
    worst = st.optimise(st.prefix(16), 4.0, objective="worst-case", gap=0.02)
    users = solution.users_for().root_mean_square, worst.users_for().root_mean_square
    assert users[1] < 0.8 * users[0]
    assert float(said.split()[-3]) == pytest.approx(100 * (1 - users[1] / users[0]), abs=2)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("workload", "epsilon", "options", "words"),
    [
        (st.prefix(8), 1.0, {}, None),
        (st.histogram(8), 4.0, {}, None),
        (st.prefix(6), 4.0, {"prior": [1, 2, 3, 4, 5, 6]}, None),
        (st.prefix(6), 4.0, {"objective": "worst-case"}, None),
        (st.prefix(20), 5.0, {"seconds": 0.5}, r"up to [\d.]+ % fewer people may be enough$"),
    ],
)
def test_it_is_not_advised_where_it_cannot_help(workload, epsilon, options, words):
    said = fewer_users(st.optimise(workload, epsilon, **options))
    assert said is None if words is None else re.search(words, said)
