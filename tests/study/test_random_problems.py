"""Random problems that are hard on double precision, judged in 80 digits: support, values, bounds and the optimum."""

import json
import math
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import stratagem as st
from judge import Stated, faults, judged, least_added
from random_problems import COUNT, RandomProblem, problem
from stratagem.estimators import per_query_variance

FOLDER = Path(__file__).parents[1]
OPTIMA = json.loads((FOLDER / "random_optima.json").read_text())
GOLDEN = json.loads((FOLDER / "golden_small.json").read_text())
SECONDS = 5
"""Longest time of one search."""


def stated_by(solution):
    problem, accuracy = solution.problem, solution.accuracy
    return Stated(
        matrix=solution.matrix,
        prior=solution.prior,
        objective=solution.objective,
        L=accuracy.objective,
        per_type=accuracy.per_type,
        per_query=per_query_variance(problem.workload, solution.strategy, problem.shares, solution.prior),
        largest=solution.largest_variance,
        bounds=solution.bounds.known(),
        least=solution.least_variance,
    )


@pytest.mark.sampled(268, 6)
@pytest.mark.parametrize("number", range(COUNT))
def test_every_statement_about_a_random_problem_is_true(number):
    asked = problem(number)
    solution = st.optimise(
        asked.rows, asked.epsilon, objective=asked.objective, prior=asked.prior, seconds=SECONDS
    )
    assert not faults(asked, stated_by(solution), Decimal(OPTIMA[number])), str(asked)


@pytest.mark.sampled(10, 3)
@pytest.mark.parametrize("number", [k for k in range(0, COUNT, 7) if problem(k).rows.shape[1] <= 6])
def test_the_table_of_optima_is_what_the_judge_finds(number):
    assert float(least_added(problem(number))) == pytest.approx(OPTIMA[number], rel=1e-10, abs=0)


def asked_of(rows, epsilon, objective="average", prior=None):
    return RandomProblem(0, "given", np.array(rows, dtype=float), epsilon, objective, prior, "given")


HISTOGRAM = asked_of(np.eye(4), 1.0)


@pytest.fixture(scope="module")
def right():
    """Randomised response on four types, in closed form, and the optimum."""
    e = math.e
    Q = np.full((4, 4), 1 / (e + 3)) + np.eye(4) * (e - 1) / (e + 3)
    p, q = e / (e + 3), 1 / (e + 3)
    own, other = p * (1 - p) / (p - q) ** 2, q * (1 - q) / (p - q) ** 2  # Wang et al., USENIX Security 2017
    t = own + 3 * other
    stated = Stated(
        Q, None, 4 * t + 4, 4 * t + 4, np.full(4, t), np.full(4, t / 4), own, {"closed": 4 * t}, t
    )
    return stated, least_added(HISTOGRAM)


def test_a_known_optimum_is_accepted(right):
    stated, least = right
    assert not faults(HISTOGRAM, stated, least)
    assert stated.L == pytest.approx(GOLDEN["histogram n=4 eps=1.0"]["optimum"], rel=1e-6)


FALSE = {
    "objective": lambda one: {"objective": one.objective * (1 + 2e-6)},
    "L": lambda one: {"L": one.L * (1 - 2e-6)},
    "per type": lambda one: {"per_type": one.per_type * [1, 1, 1, 1 + 2e-6]},
    "per query": lambda one: {"per_query": one.per_query * [1, 1 - 2e-6, 1, 1]},
    "largest variance": lambda one: {"largest": one.largest * (1 + 2e-6)},
    "bound closed": lambda one: {"bounds": {"closed": one.L * (1 + 2e-6)}},
    "least variance": lambda one: {"least": one.least * (1 + 2e-6)},
    "columns": lambda one: {"matrix": one.matrix * [1, 1, 1, 1 + 1e-9]},
}


@pytest.mark.parametrize("name", FALSE)
def test_a_false_statement_is_found(right, name):
    stated, least = right
    found = faults(HISTOGRAM, replace(stated, **FALSE[name](stated)), least)
    assert [sentence.split(":")[0] for sentence in found] == [name]


def test_a_value_that_is_not_finite_is_false(right):
    stated, least = right
    assert faults(HISTOGRAM, replace(stated, largest=math.nan), least)
    assert faults(HISTOGRAM, replace(stated, bounds={"closed": math.inf}), least)


def test_a_strategy_that_is_too_noisy_or_not_private_is_found(right):
    stated, _ = right
    for epsilon, fault in ((1.01, "not optimal"), (0.99, "epsilon")):
        asked = replace(HISTOGRAM, epsilon=epsilon)
        found = faults(asked, stated, least_added(asked))
        assert any(sentence.startswith(fault) for sentence in found)


def blind(error=0.0):
    """Two reports that tell type 0 from the others; types 2 and 3 differ by `error`."""
    Q = np.array([[0.7, 0.3, 0.3, 0.3], [0.3, 0.7, 0.7, 0.7]])
    Q[:, 3] += [error, -error]
    return Q


@pytest.mark.parametrize("error", [0, 1e-16])
@pytest.mark.parametrize("rows", [[[1e6, 0, 0, 0], [0, 1, 0, 0]], [[1e9 + 1, 1e9, 1e9, 1e9], [1, 0, 0, 1]]])
def test_a_small_query_that_is_not_seen_beside_a_large_one_is_found(rows, error):
    found = judged(rows, blind(error))
    assert found.missing[0] < 1e-9 or error
    assert found.missing[1] > 0.4 or found.rest > 1e20


@pytest.mark.parametrize("error", [0, 1e-16])
def test_rounding_of_columns_that_no_query_tells_apart_changes_nothing(error):
    rows = [[1e6, 0, 0, 0], [0, 1, 1, 1]]
    found = judged(rows, blind(error))
    assert float(found.missing.max()) < 1e-9
    assert float(found.added("average")) == pytest.approx((1e12 + 1) * 0.21 / 0.16, rel=1e-9)


MATRICES = {"histogram": np.eye, "prefix": lambda n: np.tril(np.ones((n, n)))}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("n", [4, 8])
def test_the_judge_agrees_with_another_solver(kind, n, epsilon):
    rows, golden = MATRICES[kind](n), GOLDEN[f"{kind} n={n} eps={epsilon}"]["optimum"]
    least = float(least_added(asked_of(rows, epsilon)))
    assert n * least + np.square(rows).sum() == pytest.approx(golden, rel=1e-5)


CONE = {(3, 2): 0.85608, (4, 2): 1.90538, (4, 3): 0.65506, (4, 4): 0.24972, (5, 2): 3.42614, (6, 2): 5.36559}
"""Least worst-case variances of the mean of 0, ..., n - 1, by (n, epsilon), from a cone programme over all rows."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("n", "epsilon"), CONE)
def test_the_judge_knows_the_worst_case_of_a_mean(n, epsilon):
    asked = asked_of([np.arange(n)], float(epsilon), "worst-case")
    assert float(least_added(asked)) == pytest.approx(CONE[n, epsilon], abs=6e-6)
    shifted = replace(asked, rows=asked.rows + 1e9)
    assert float(least_added(shifted)) == pytest.approx(CONE[n, epsilon], abs=6e-6)
