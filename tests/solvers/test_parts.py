"""Surveys by parts: optima of small ones, six as people ask them, random ones against four other ways."""

import math
from dataclasses import replace

import numpy as np
import pytest

import stratagem as st
from stratagem.estimators import evaluate, overlap
from stratagem.published import BASELINES
from stratagem.solvers import Auto, Parts, parts
from stratagem.solvers.certified.patterns import EXHAUSTIVE
from stratagem.solvers.parts import asks_in_parts
from stratagem.solvers.problem import problem_of
from stratagem.solvers.solver import Status, Step, hopeless, search
from stratagem.strategies import SurveyStrategy
from stratagem.study.ranking import rank_baselines
from stratagem.workloads.table import by_attributes, means
from surveys import ASKED, FOUR, FOUR_OPTIMA, OPTIMA, random_survey

SECONDS, SHORT = 60, 4
"""Longest time of a search for a survey, and of each that it is held against."""
ROUNDING = 1e-9
FEW = (3, 17)
"""Random surveys of the exhaustive run; two minutes each."""
QUICK = [one for one in BASELINES if not one.slow]


def costs(tables, objective):
    """Return v0 and D^(1/2) of every table of queries, from the objective of a strategy for it alone."""
    known = [float(np.square(means(one.workload)).sum()) for one in tables]
    excess = [
        objective(one.workload) / one.workload.scale - v0 for one, v0 in zip(tables, known, strict=True)
    ]
    return sum(known), [math.sqrt(max(0.0, one)) for one in excess]


@pytest.mark.sampled(7)
@pytest.mark.parametrize("epsilon", [1, 2, 3])
@pytest.mark.parametrize("name", OPTIMA)
def test_small_surveys_are_at_their_optimum(name, epsilon):
    workload, optima = OPTIMA[name]
    found = st.optimise(workload, float(epsilon))
    assert found.objective / workload.domain_size == pytest.approx(optima[epsilon - 1], rel=2e-3)
    assert found.gap <= 0.01


@pytest.mark.exhaustive
@pytest.mark.parametrize("epsilon", FOUR_OPTIMA)
def test_questions_join_where_that_pays(epsilon):
    found = st.optimise(FOUR, epsilon, seconds=2 * SECONDS)
    assert found.objective / FOUR.domain_size <= FOUR_OPTIMA[epsilon]
    asked = (
        [one.attributes for one in found.strategy.parts] if isinstance(found.strategy, SurveyStrategy) else []
    )
    assert ((2,) in asked and (3,) in asked) == (epsilon == 1)


TIMES = {
    "age, region x income, region, smokes": (1.1643, 8.376),
    "age, region, smoker, region x income": (1.0510, 7.011),
    "age x sex, region, region x education": (1.2612, 4.632),
    "delay, distance, carrier": (1.2503, 5.811),
    "age, state, eight yes/no": (1.2272, 53.98),
    "age, region, smoker": (1.0796, 3.861),
}
"""Objective of one published mechanism for each question, and of a split budget, over that of what is found.

Questions that share attributes are estimated together, of published mechanisms too."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ASKED)
def test_surveys_as_people_ask_them(name):
    workload, objective, gap = ASKED[name]
    found = st.optimise(workload, 1.0, seconds=2 * SECONDS)
    assert found.objective <= 1.003 * objective
    assert found.gap <= gap
    assert found.strategy.epsilon <= 1
    published = {name: one.objective / found.objective for name, one in found.baselines.named.items()}
    assert (published["one question each"], published["split budget"]) == pytest.approx(
        TIMES[name], rel=0.005
    )
    assert min(published.values()) > 1.05


@pytest.mark.parametrize(
    "number",
    [pytest.param(k, marks=pytest.mark.exhaustive if k in FEW else pytest.mark.thorough) for k in range(30)],
)
def test_no_other_way_is_better(number):
    """Parts one by one, all tables together, an even split of epsilon, and the best published one for each question."""
    workload, epsilon = random_survey(number)
    found, tables = st.optimise(workload, epsilon, seconds=SECONDS), by_attributes(workload)
    reached = found.objective / workload.scale * (1 - ROUNDING)
    assert found.strategy.epsilon <= epsilon
    assert evaluate(workload, found.strategy).objective == pytest.approx(found.objective, rel=1e-9)
    known, roots = costs(tables, lambda one: st.optimise(one, epsilon, seconds=SHORT).objective)
    assert reached <= 1.003 * (known + sum(roots) ** 2)
    known, roots = costs(tables, lambda one: rank_baselines(problem_of(one, epsilon), QUICK)[0].objective)
    assert reached <= known + sum(roots) ** 2
    part = epsilon / len(tables)
    known, roots = costs(tables, lambda one: st.optimise(one, part, seconds=SHORT).objective)
    assert reached <= known + sum(one**2 for one in roots)
    if (together := Auto().together(found.problem)) is not None:
        joint = st.optimise(workload, epsilon, together.solver, seconds=SHORT)
        assert reached <= joint.objective / workload.scale


TAKEN = {
    "questions": (FOUR, True),
    "one attribute": (st.prefix(64), False),
    "one table of all": (st.kron([st.prefix({"age": 9}), st.histogram({"sex": 2})]), False),
    "a family of tables": (st.marginals("2^10", 2), False),
    "few cells": (OPTIMA["2, 3"][0], True),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_taken_as_a_survey(name):
    workload, taken = TAKEN[name]
    chosen = Auto().select(problem_of(workload, 1.0)).solver
    assert asks_in_parts(workload) == taken
    assert isinstance(chosen, Parts) == (taken and workload.domain_size > EXHAUSTIVE)


TOGETHER = {
    "a chain": ("a=4,b=3,c=4,d=3", [("a", "b"), ("b", "c"), ("c", "d")], SECONDS, 0.004),
    "two tables": ("a=8,b=4,c=7", [("a", "b"), ("b", "c")], SECONDS, 0.004),
    "two larger tables": ("a=10,b=6,c=8", [("a", "b"), ("b", "c")], 3 * SECONDS, 0.002),
    "three pairs": ("a=5,b=5,c=5", [("a", "b"), ("b", "c"), ("a", "c")], 3 * SECONDS, 0.002),
}
"""Sizes, tables, seconds and the gap reached; .5 to 2 % without what parts answer for each other."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.exhaustive] * (k > 0)) for k, name in enumerate(TOGETHER)]
)
def test_parts_that_share_attributes_are_best_for_the_whole(name):
    sizes, tables, seconds, gap = TOGETHER[name]
    asked = st.Survey(sizes)
    for table in [*tables, *((one,) for one in asked.domain.names)]:
        asked = asked.table(*table)
    seen = []
    solver = Auto().select(problem_of(asked.workload, 1.0)).solver
    found = st.optimise(asked.workload, 1.0, seconds=seconds, on_step=lambda step: seen.append(step) and None)
    assert isinstance(solver, Parts)
    assert found.gap <= gap
    assert found.strategy.epsilon <= 1
    assert [step.best for step in seen] == sorted((step.best for step in seen), reverse=True)


@pytest.mark.parametrize(
    ("size", "epsilon", "saved"), [(3, 3.0, 0.04), pytest.param(4, 4.0, 0.02, marks=pytest.mark.exhaustive)]
)
def test_further_parts_pay_where_not_all_questions_fit_on_one_table(monkeypatch, size, epsilon, saved):
    """Two of three questions fit on a table: all three pairs end as parts, each worth as much as any other."""
    monkeypatch.setattr(parts, "CELLS", size**2)
    workload = st.Survey(f"a={size},b={size},c={size}").table("a").table("b").table("c").workload
    problem, solver = problem_of(workload, epsilon), Parts(Auto())
    states = [solver.begin(problem, 0, None)]
    while not states[-1].stuck:
        states.append(solver.advance(problem, states[-1]))
    objectives = [state.objective for state in states]
    assert objectives == sorted(objectives, reverse=True)
    joined = max(state.objective for state in states if len(state.questions) == 2)
    assert problem.bounds.best <= objectives[-1] <= (1 - saved) * joined
    survey = solver.finish(problem, states[-1])
    assert {(0, 1), (0, 2), (1, 2)} < {one.attributes for one in survey.parts}
    W = workload.matrix() - workload.matrix().mean(axis=1, keepdims=True)
    inverse = np.linalg.pinv(survey.dense().centred_information(), hermitian=True)
    G = inverse @ W.T @ W @ inverse
    each = [replace(one, share=1.0) for one in survey.parts if one.share > 0.2]
    alone = [SurveyStrategy(survey.sizes, (one,)).dense().centred_information() for one in each]
    worth = [np.trace(G @ C) / np.trace(W @ inverse @ W.T) for C in alone]
    assert worth == pytest.approx([1] * 3, abs=0.03)


def test_further_parts_that_are_too_many_to_be_estimated_together_are_left_out(monkeypatch):
    """Two tables that share an attribute are estimated together still; the pairs of a, b and c would be too large."""
    monkeypatch.setattr(parts, "CELLS", 9)
    monkeypatch.setattr(overlap, "CELLS", 20)
    asked = st.Survey("a=3,b=3,c=3,d=3,e=3,f=3").table("a").table("b").table("c")
    workload = asked.table("d", "e").table("e", "f").workload
    problem, solver = problem_of(workload, 3.0), Parts(Auto())
    survey = solver.finish(problem, search(solver, problem).best)
    assert {(3, 4), (4, 5)} <= {one.attributes for one in survey.parts}
    assert len(survey.parts) == 4
    assert evaluate(workload, survey).objective >= problem.bounds.best


@pytest.mark.exhaustive
def test_a_search_for_both_questions_that_would_not_beat_them_apart_is_ended(monkeypatch):
    """At the same objective, in fewer steps: the search from nothing would come no nearer than 2 % to the mixture."""
    workload = st.Survey("a=10,b=8").prefix("a").prefix("b").workload
    problem, steps = problem_of(workload, 2.0), []

    def counted(*given):
        steps.append(len((found := search(*given)).history))
        return found

    def objective():
        steps.clear()
        solver = Parts(Auto())
        tables = solver.begin(problem, 0, None).questions
        with monkeypatch.context() as patched:
            patched.setattr(parts, "search", counted)
            return solver._joined(problem, *tables).excess

    ended, few = objective(), sum(steps)
    monkeypatch.setattr(parts, "hopeless", lambda known: None)
    assert ended == pytest.approx(objective(), rel=1e-3)
    assert 3 * few < sum(steps)


def test_what_is_hopeless():
    """Gains that halve lead no further down than they have once more."""
    falls, rises = hopeless(known=1.0), hopeless(known=1.0)
    at = [Step(0, k, 0.0, 1.0 + 0.5**k, 0.0, 0.0) for k in range(9)]
    assert not any(falls(step) for step in at), "they reach what is known"
    late = [replace(step, best=step.best + 0.5) for step in at]
    ends = [bool(rises(step)) for step in late]
    assert ends.index(True) > 3, "some steps are waited for"


def test_a_survey_whose_searches_had_no_time_does_not_say_that_it_ended_by_itself():
    asked = st.Survey("a=10,b=8,c=5").prefix("a").prefix("b").table("c")
    assert st.optimise(asked, 2.0, seconds=2).status is Status.TIME_EXHAUSTED


def test_no_status_says_that_a_better_strategy_is_out_of_the_question_where_none_is_proven():
    found = st.optimise(st.prefix(16), 1.0)
    assert found.status is Status.CONVERGED
    assert "a better strategy may still exist. The second half of its time, " in found.verdict
    assert not any("settled" in status for status in Status)


def test_a_search_without_time_answers_all_questions():
    found = st.optimise(ASKED["age, state, eight yes/no"][0], 1.0, seconds=0.5)
    assert len(found.strategy.parts) == 10
    assert math.isfinite(found.objective)
