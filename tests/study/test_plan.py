"""A plan's numbers are those of its solution; budgets that are sought reach their error, and smaller ones do not."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import stratagem as st
from stratagem.bounds import Bound, Bounds
from stratagem.bounds.formulas import CLOSED
from stratagem.study.plan import CLOSE

AGES = [20, 20, 25, 30, 30, 35, 40, 45, 45, None] * 20
CITIES = ["Ghent", "Oslo", "Rome", "Oslo", None] * 20


@pytest.mark.parametrize(
    ("values", "name", "n"), [(AGES, "prefix", 27), (CITIES, "histogram", 4)], ids=["ages", "cities"]
)
def test_its_numbers_are_those_of_the_solution(values, name, n):
    plan = st.plan(values, users=5000)
    solution = plan.solution
    assert (plan.name, plan.epsilon, len(plan.x)) == (name, 1.0, n)
    assert plan.x.sum() == len(values)
    mean = solution.accuracy.worst_case_variance / solution.workload.queries
    assert plan.errors.root_mean_square == pytest.approx(math.sqrt(mean / 5000))
    assert solution.users_for(plan.errors.root_mean_square).root_mean_square == pytest.approx(5000, abs=1)
    assert solution.users_for(plan.errors.least_accurate).least_accurate == pytest.approx(5000, abs=1)
    assert plan.best_published.objective >= solution.objective * (1 - 1e-9)
    assert plan.published_errors.root_mean_square >= plan.errors.root_mean_square * (1 - 0.05)
    assert plan.least_error <= plan.errors.root_mean_square
    assert solution.gap <= CLOSE


@pytest.mark.parametrize(("values", "epsilon"), [(AGES, 1.0), (CITIES, 12.0)])
def test_the_share_above_the_least_variance_is_of_variances(values, epsilon):
    """The gap of the objective is smaller, as the objective holds ||W||_F^2 besides."""
    plan = st.plan(values, users=5000, epsilon=epsilon)
    solution = plan.solution
    above = solution.accuracy.average_variance / solution.least_variance - 1
    said = float(re.search(r"Variance (?:< )?([\d.]+) % above the proven minimum", str(plan))[1])
    assert 0 <= said / 100 - above < 1.01e-4
    assert said / 100 > solution.gap


def test_where_the_bound_says_nothing_nothing_is_proven():
    plan = st.plan(CITIES, users=5000)
    silent = replace(plan.solution, bounds=Bounds(Bound.of(CLOSED, 0.0)))
    said = str(replace(plan, solution=silent))
    assert "Variance above a proven minimum of zero, on average over the values." in said
    assert "\nproven minimum" not in said


@pytest.mark.parametrize(("values", "of_all"), [(AGES, True), (CITIES, True), ([1, 2, 3] * 9, False)])
def test_shares_are_of_all_people_where_some_did_not_answer(values, of_all):
    found = str(st.plan(values, users=5000))
    assert ("Shares are those of all people; shares of those who answered" in found) == of_all


def test_what_it_says_of_an_attack_is_what_the_best_attack_does():
    plan = st.plan(CITIES, users=100, epsilon=2.0)
    Q = plan.solution.matrix
    rng = np.random.default_rng(20260101)
    types = rng.integers(Q.shape[1], size=40_000)
    reports = plan.solution.strategy.randomise(types, rng)
    right = np.mean(Q.argmax(axis=1)[reports] == types)
    # five standard deviations: a false alarm once in 1.7 million runs
    assert abs(right - plan.best_guess) < 5 * math.sqrt(0.25 / len(types))
    assert 1 / Q.shape[1] < plan.best_guess < math.exp(2.0) / Q.shape[1]
    assert plan.believed == pytest.approx(math.exp(2.0) / (1 + math.exp(2.0)))
    blunt = np.mean(Q.argmin(axis=1)[reports] == types)
    assert abs(blunt - plan.best_guess) > 5 * math.sqrt(0.25 / len(types))


@pytest.mark.parametrize("error", [0.02, 0.2])
def test_the_budget_that_it_finds_reaches_the_error_and_one_per_cent_less_does_not(error):
    plan = st.plan(CITIES, users=3000, error=error)
    assert plan.users_needed <= 3000
    less = st.optimise(plan.solution.workload, plan.epsilon / (1 + 2 * CLOSE))
    assert plan.epsilon <= 0.011 or less.users_for(error).root_mean_square > 3000
    assert "3,000 are enough" in " ".join(str(plan).split())


@pytest.mark.parametrize(("epsilon", "warned"), [(4.0, False), (4.5, True)])
def test_a_large_budget_is_warned_of_where_it_stands(epsilon, warned):
    first = str(st.plan(CITIES, users=3000, epsilon=epsilon)).split("\n\n")[0]
    assert ("Do not promise privacy with an epsilon above 4" in first) == warned


def test_with_a_budget_it_says_how_many_people_an_error_takes():
    plan = st.plan(CITIES, epsilon=1.0, error=0.001)
    assert plan.users == len(CITIES)
    assert plan.users_needed == plan.solution.users_for(0.001).root_mean_square > 100
    assert "are not enough" in " ".join(str(plan).split())


@pytest.mark.exhaustive
def test_its_sentences_hold_its_numbers():
    plan = st.plan(AGES, users=5000)
    text = str(plan)
    assert f"{100 * plan.errors.root_mean_square:.3g} %" in text
    assert plan.best_published.mechanism in text
    assert f"{100 * plan.least_error:.3g} %" in text
    assert "at most 73.2 % likely afterwards" in text  # 73.106, rounded up
    assert "20 of 200 rows count as 'no answer'." in text
    assert "state values that you know without the data" in text
    assert "state values" not in str(st.plan(AGES, values=st.bins("0:50:5"), users=10))


def test_its_mechanism_has_its_values(tmp_path):
    plan = st.plan(AGES, column="age", users=5000, unit="years")
    loaded = st.load_mechanism(plan.save(tmp_path / "age.ldp.json"))
    assert loaded.name == "prefix"
    (attribute,) = loaded.client.attributes
    assert (attribute["name"], attribute["unit"], attribute["no_answer"]) == ("age", "years", True)
    assert "other" not in attribute["edges"]
    with pytest.raises(ValueError, match="exists"):
        plan.save(tmp_path / "age.ldp.json")


@pytest.mark.parametrize("values", [np.array([1.5, 2.5, np.nan, 9.0]), (str(k) for k in range(9))])
def test_it_reads_arrays_and_iterators(values):
    assert st.plan(values, values=st.bins("0:10:5"), users=10).x[:-1].sum() > 0


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        (CITIES, {"users": 1, "error": 0.1, "epsilon": 1.0}, "leave one out"),
        (CITIES, {"users": 0}, "users is 0"),
        ([], {"values": st.bins("0:10:5")}, "users is 0"),
        (CITIES, {"missing": "Oslo"}, "several"),
        (CITIES, {"workload": "mean"}, "asks about numbers"),
        (CITIES, {"users": 2.5}, "users is 2.5"),
        (CITIES, {"users": True}, "users is True"),
        (CITIES, {"error": 1.0}, "error is 1.0"),
        (CITIES, {"error": -0.1}, "error is -0.1"),
        (CITIES, {"error": math.nan}, "error"),
        (CITIES, {"epsilon": 0.0}, "epsilon is 0.0"),
        (CITIES, {"unit": "km"}, "has labels"),
        (CITIES, {"workload": "prefx"}, "prefix"),
        (CITIES, {"users": 3, "error": 1e-4}, "takes an epsilon above 10"),
        ("nowhere.csv", {"column": "age"}, "nowhere.csv"),
        ("nowhere.csv", {}, "nowhere.csv cannot be read"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_a_sentence(data, options, words):
    with pytest.raises(ValueError, match=words):
        st.plan(data, **options)
