"""The sentences on a result say the solution's own numbers."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import stratagem as st
from stratagem.accuracy import users_needed
from stratagem.problem import problem_of
from stratagem.study.comparison import Comparison
from stratagem.study.comparison_sweep import Sweep
from stratagem.study.headline import (
    bound_sentence,
    data_headline,
    fewest_users,
    headline,
    limit,
    sweep_headline,
)
from stratagem.study.ranking import Ranking

X = np.array([40, 30, 10, 10, 5, 3, 1, 1])


@pytest.fixture(scope="module")
def solution():
    return st.optimise(st.prefix(8), 1.0, "quick")


def whole(sentence):
    """Return the whole numbers with separators in a sentence."""
    return [
        int(number.replace(",", ""))
        for number in re.findall(r"(?<![.\w])\d[\d,]*(?![\d,.]*[.]\d| %)", sentence)
    ]


def shares(sentence):
    return [float(number.replace(",", "")) for number in re.findall(r"([\d,.]+) %", sentence)]


def test_three_sentences_hold_the_numbers_of_the_solution(solution):
    first, second, third = headline(solution)
    ours = solution.users_for()
    assert first == f"{ours.sentence()}."
    assert {ours.root_mean_square, ours.least_accurate} <= set(whole(first))
    theirs = {str(one): one.users_for().root_mean_square for one in solution.baselines}
    best = min(theirs, key=theirs.__getitem__)
    assert second.startswith(f"The best published mechanism, {best}, needs {theirs[best]:,} users for that")
    assert shares(second) == [round(100 * (1 - ours.root_mean_square / theirs[best]), 1)]
    assert second.endswith("% fewer.")
    least = users_needed(solution.least_variance / 8)
    assert f"can need fewer than {least:,} users" in third
    assert 0 <= shares(third)[-1] / 100 - (ours.root_mean_square / least - 1) < 1.1e-3
    assert "no unbiased mechanism with one report per user" in third


def test_users_of_the_bound_bound_every_mechanism(solution):
    least = fewest_users(solution.problem, solution.bounds)
    assert all(one.users_for().root_mean_square >= least for one in (solution, *solution.baselines))


def test_the_least_accurate_answer_counts_where_it_is_the_objective():
    solution = st.optimise(st.prefix(6), 1.0, "quick", objective="worst-query")
    _, second, third = headline(solution)
    theirs = min(one.users_for().least_accurate for one in solution.baselines)
    assert f"needs {theirs:,} users for the least accurate answer" in second
    least = users_needed(solution.lower_bound)
    assert f"fewer than {least:,} users" in third
    assert "for the least accurate answer" in third
    assert solution.users_for().least_accurate >= least


def test_as_many_more_and_none(solution):
    rival = min(solution.baselines, key=lambda one: one.users_for().root_mean_square)
    same = replace(solution, strategy=rival.strategy, accuracy=rival.accuracy, objective=rival.objective)
    assert headline(same)[1].endswith("ours needs about as many.")
    worst = replace(solution, accuracy=solution.baselines[-1].accuracy)
    assert headline(worst)[1].endswith("% more.")
    assert "not set up" in headline(replace(solution, baselines=Ranking(())))[1]
    assert limit(solution, "this one").split("; ")[1].startswith("this one is within ")


def test_a_bound_of_nothing_says_so():
    solution = st.optimise(st.total(4), 1.0)
    assert limit(solution) == "At epsilon 1 the lower bound is too small to say how many users are needed."


def test_answers_in_other_units_are_no_share_of_users():
    problem = problem_of(st.mean([0.5, 3.0, 7.0]), 1.0)
    said = bound_sentence(problem, problem.bounds)
    assert "a standard error of 0.01 a user, in the units of the queries" in said
    assert "%" not in said


def test_errors_on_data_are_those_of_the_comparison(solution):
    comparison = Comparison.of(solution).on(X)
    first, second, third = data_headline(comparison)
    ours = next(row for row in comparison.rows if row.optimised)
    best = min((row for row in comparison.rows if not row.optimised), key=lambda row: row.value)
    assert f"is {ours.error:.4g} users, {ours.error:.3g} % of all" in first
    assert f"best published mechanism, {best.mechanism}" in second
    assert f"it is {best.error:.4g}: ours is" in second
    assert shares(second) == [round(100 * (1 - ours.error / best.error), 1)]
    assert f"{comparison.least_error:.4g} users on these data; ours is within" in third
    assert shares(third) == [math.ceil(1000 * (ours.error / comparison.least_error - 1)) / 10]


def test_a_sweep_says_the_least_and_most_gain(solution):
    line = Sweep("epsilon", (Comparison.of(solution), Comparison.of(st.optimise(st.prefix(8), 2.0, "quick"))))
    needed = line.users_needed()
    ours, least = needed.pop("optimised"), needed.pop("lower bound")
    best = [min(users[k] for users in needed.values() if users[k] is not None) for k in (0, 1)]
    gains = sorted(round(100 * (1 - a / b), 1) for a, b in zip(ours, best, strict=True))
    far = max(a / b for a, b in zip(ours, least, strict=True))
    said = shares(sweep_headline(line))
    assert said[:2] == gains
    assert said[2] == math.ceil(1000 * (far - 1) - 1e-9) / 10
    alone = sweep_headline(replace(line, comparisons=line.comparisons[:1]))
    assert len(shares(alone)) == 2
