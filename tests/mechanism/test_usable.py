"""Too few people: the rule as a table of cases, and ways out that are enough by an independent computation."""

import math

import numpy as np
import pytest

import stratagem as st
from stratagem.domain import Attribute, Domain, Labels
from stratagem.estimators import mean_variance
from stratagem.math.deadline import within
from stratagem.math.vector import SparseCounts
from stratagem.mechanism.usable import estimate_usability, largest_error, usability

WIDEST = 1 / (2 * 1.959964)
"""Standard error of a 95 % interval that is as wide as all that a share can be."""

RULE = {
    "no counts": (None, WIDEST),
    "half of a small mean": (0.02, 0.01),
    "half of a mean just below the width": (0.5, 0.25),
    "the width, where the mean is large": (0.9, WIDEST),
}


@pytest.mark.parametrize("case", RULE)
def test_the_rule_is_the_width_of_an_interval_and_half_the_mean(case):
    mean, expected = RULE[case]
    assert largest_error(mean) == pytest.approx(expected, rel=1e-6)


EDGES = {
    "cells: half of 1/n": (st.histogram(16), 1 / 32),
    "many prefixes: half of a tenth of the people": (st.prefix(32), 1 / 20),
    "few prefixes: half of 1/n": (st.prefix(4), 1 / 8),
    "ranges: half of 1/n": (st.all_range(5), 1 / 10),
    "prefixes in each of three groups": (st.kron([st.prefix(32), st.histogram("sex=3")]), 1 / 60),
    "a question about some of the values: half of them": (st.explicit([[1.0, 1, 0, 0]]), 1 / 4),
    "tables of two attributes: half of 1/6": (st.marginals("a=2,b=3", 2), 1 / 12),
    "sums of numbers from 0.5 to 7: the width of their range": (st.mean([0.5, 3.0, 7.0]), 6.5 * WIDEST),
}


@pytest.mark.parametrize("users", [30, 300, 10**6])
@pytest.mark.parametrize("case", EDGES)
def test_answers_are_usable_up_to_an_error_and_not_above_it(case, users):
    """The second half is the negative control of the first."""
    workload, error = EDGES[case]
    assert usability(workload, 1.0, users, 0.999 * users * error**2).usable
    found = usability(workload, 1.0, users, 1.002 * users * error**2)
    assert not found.usable
    assert str(found).startswith(f"Not usable with {users:,} people: ")
    assert found.data()["ways"]["people"] > users


def solved(workload, epsilon):
    return st.optimise(workload, epsilon, "quick")


OUT = {
    "cells": (st.histogram, 16, 300),
    "prefixes": (st.prefix, 33, 300),
    "ranges": (st.all_range, 16, 300),
    "pairs": (lambda k: st.marginals([k, k, k], 2), 4, 500),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", OUT)
def test_each_way_is_about_enough_and_hardly_more(case):
    """Searched anew at the epsilon or size named, the mechanism has at most 1.1 times the largest usable error; with
    four fifths of that epsilon, or a quarter more values, it would not do.
    """
    family, size, users = OUT[case]
    solution = solved(family(size), 1.0)
    found = usability(family(size), 1.0, users, solution.mean_variance)
    ways = found.ways
    assert usability(family(size), 1.0, ways.people, solution.mean_variance).usable
    assert not usability(family(size), 1.0, int(0.9 * ways.people), solution.mean_variance).usable

    def enough(workload, epsilon, slack=1.0):
        return usability(workload, None, users, solved(workload, epsilon).mean_variance / slack**2).usable

    assert enough(family(size), ways.epsilon, 1.1)
    assert not enough(family(size), 0.8 * ways.epsilon)
    if ways.values is not None:
        assert enough(family(ways.values), 1.0, 1.1)
        assert not enough(family(math.ceil(1.25 * ways.values) + 1), 1.0)


@pytest.mark.parametrize("workload", [st.prefix(15), st.histogram(16)])
def test_the_ways_are_the_same_whatever_time_is_left(workload):
    """A plan named other numbers than the page beside it, as its search had used up the time of the command."""
    found = usability(workload, 1.0, 300, 16.0).ways
    with within(0.0):
        assert usability(workload, 1.0, 300, 16.0).ways == found


def test_values_outside_of_another_question_do_not_change_what_is_enough(rng):
    """A survey of which one question has "other" and "no answer" named fewer values for the questions without."""
    domain = Domain(
        Attribute("a", st.bins("0:20:1").values), Attribute("b", Labels(("x", "y", "other"), no_answer=True))
    )
    survey = st.Survey(domain).prefix("a").table("b")
    mechanism = solved(survey.workload, 1.0).mechanism()
    outputs = mechanism.strategy.randomise(rng.integers(0, domain.size, 300), rng)
    (question, found), _ = mechanism.estimate(tally(mechanism.strategy, outputs)).by_question()
    asked = question.over(domain)
    each = mean_variance(asked, found.through, found.through.accuracy(asked))
    planned = usability(question.workload, 1.0, 300, each, other=0)
    assert not planned.usable
    assert estimate_usability(found, 1.0, question.workload).ways.values == planned.ways.values


NONE = {
    "no epsilon up to 10": (st.histogram(2**14), 30, "epsilon"),
    "no coarser values of a matrix": ([[1, 0, 0], [0, 1, 0]], 2, "values"),
    "no coarser values than two": (st.histogram(2), 2, "values"),
}


@pytest.mark.parametrize("case", NONE)
def test_a_way_that_is_not_known_is_not_named(case):
    workload, users, way = NONE[case]
    workload = st.optimise(workload, 1.0, "quick").workload if isinstance(workload, list) else workload
    found = usability(workload, 1.0, users, 30.0)
    assert found.data()["ways"][way] is None
    assert {"epsilon": "epsilon", "values": "coarser"}[way] not in str(found.ways)
    assert usability(workload, None, users, 30.0).data()["ways"]["epsilon"] is None


@pytest.mark.parametrize(("users", "named"), [(1, False), (3, False), (24, False), (25, True)])
def test_for_a_handful_of_people_only_more_people_are_named(users, named):
    """However large epsilon is, answers of three people say nothing of anybody else."""
    ways = usability(st.histogram(3), 1.0, users, 4.0).ways
    assert ways.people > 25
    assert (ways.epsilon is not None) == named
    assert ("epsilon" in str(ways)) == named


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("users", "usable"), [(300, False), (30_000, True)])
@pytest.mark.parametrize("workload", ["histogram", "prefix"])
def test_an_estimate_says_what_its_plan_said(workload, users, usable, rng):
    """Answers without error are not among those that count."""
    plan = st.plan(
        rng.integers(0, 20, 1000), users=users, workload=workload, values=st.bins("0:20:1"), seconds=5
    )
    assert plan.usability.usable == usable
    assert ("Not usable with" in str(plan)) == (not usable)
    mechanism = plan.mechanism()
    sums = mechanism.strategy.row_sums
    counts = rng.multinomial(users, sums / sums.sum())
    found = estimate_usability(mechanism.estimate(counts), 1.0)
    assert found.usable == usable
    if not usable:
        assert found.ways.people == pytest.approx(plan.usability.ways.people, rel=0.1)
        assert found.ways.values == pytest.approx(plan.usability.ways.values, abs=1)
    assert estimate_usability(mechanism.estimate(counts), None).data()["usable"] == usable


SEEN = {
    "two questions": lambda: st.Survey("a=4,b=4").table("a").table("b").workload,
    "several questions, more answers together than are listed": lambda: marginals_by_one((4, 4, 60, 60, 30)),
    "one question": lambda: st.prefix(33),
    "tables of many attributes": lambda: st.marginals("8^12", 2),
}


def marginals_by_one(sizes):
    survey = st.Survey(",".join(f"a{k}={size}" for k, size in enumerate(sizes)))
    for k in range(len(sizes)):
        survey = survey.table(f"a{k}")
    return survey.workload


@pytest.mark.parametrize("case", SEEN)
def test_the_people_named_on_a_few_reports_are_those_of_the_plan(case, rng):
    """Of 7 reports the variance seen says 320 and 780 for two questions that take as many people each."""
    solution = solved(SEEN[case](), 1.0)
    through, strategy = solution.estimator, solution.mechanism().strategy
    for users in (7, 12):
        outputs = strategy.randomise(rng.integers(0, strategy.domain_size, users), rng)
        counted = solution.mechanism().estimate(tally(strategy, outputs))
        for question, found in counted.by_question():
            asked = question.over(solution.workload.domain)
            each = mean_variance(asked, through, through.accuracy(asked))
            planned = usability(question.workload, None, users, each).ways.people
            if found.reports:
                assert estimate_usability(found, 1.0, question.workload).ways.people == planned
                assert estimate_usability(found, 1.0, question.workload, planned).usable


def tally(strategy, outputs):
    return SparseCounts(*np.unique(outputs, return_counts=True), strategy.outputs)


def test_who_is_enough_by_the_plan_and_not_by_the_reports_is_told_what_the_reports_say():
    """No way out names fewer people than came."""
    asked = st.histogram(4)
    found = usability(asked, 1.0, 100, 2.0, expected=lambda: 0.1)
    assert not found.usable
    assert found.ways == usability(asked, 1.0, 100, 2.0).ways
    assert found.ways.people > 100
