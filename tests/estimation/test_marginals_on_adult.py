"""All pairs of nine attributes of Adult: errors as stated, and smaller than those of the published mechanisms."""

from functools import cache

import numpy as np
import pytest

import stratagem as st
from adult import USERS, WRONG, people
from stratagem.math.vector import counted
from stratagem.solvers.junta.junta_pattern import published_juntas, sampled_tables

REPETITIONS = 10


@cache
def pairs():
    """The workload, the strategy that is found and the one of marginal response, at epsilon 1."""
    workload = st.marginals(people()[0], 2)
    ours = st.optimise(workload, 1.0, st.solvers.Junta(max_steps=1, max_seconds=2.0)).strategy
    return workload, ours, published_juntas(workload.structure.spectrum, 1.0)["marginal-response"]


def collected(strategy, seed, wrong=None):
    """Return the answers from reports of all people, their squared error and the squared standard errors."""
    workload, values = pairs()[0], people()[1]
    counts = counted(strategy.randomise(values, np.random.default_rng(seed)), strategy.outputs)
    found = st.estimate(wrong or strategy, counts, workload)
    truth = workload.answer_users(values)
    return found.answers, np.square(found.answers - truth).sum(), np.square(found.standard_errors).sum()


def distances(answers):
    """Return the total variation distance of each table to the true one, in people."""
    workload, values = pairs()[0], people()[1]
    gaps = np.abs(answers - workload.answer_users(values))
    return np.array([gaps[margin.places].sum() / 2 for margin in workload.margins()])


def test_the_table_is_the_one_of_the_literature():
    domain, values = people()
    assert tuple(domain.values()) == (7, 16, 7, 14, 6, 5, 2, 41, 2)
    assert values.shape == (USERS, 9)


@pytest.mark.exhaustive
def test_errors_are_as_stated_and_far_below_marginal_response():
    """Ten sums of some 4,000 nearly independent squares: within 6 % of their mean but for 1 in 100,000 runs.

    Observed over 200 repetitions the ratio has a standard deviation of 0.033 a repetition.
    """
    workload, ours, response = pairs()
    ratios = [collected(ours, seed) for seed in range(REPETITIONS)]
    observed = np.mean([squared for _, squared, _ in ratios])
    stated = np.mean([stated for _, _, stated in ratios])
    predicted = len(people()[1]) * st.evaluate(workload, ours).average_variance
    assert stated == pytest.approx(predicted, rel=1e-6)
    assert observed == pytest.approx(stated, rel=0.06)
    ours_tv = np.mean([distances(answers) for answers, _, _ in ratios], axis=0)
    theirs_tv = distances(collected(response, 0)[0])
    assert ours_tv.mean() < 0.5 * theirs_tv.mean()


@pytest.mark.exhaustive
def test_an_estimator_for_another_epsilon_does_not_keep_what_it_states():
    ours = pairs()[1]
    wrong = st.strategies.JuntaStrategy(ours.sizes, ours.groups, ours.patterns, ours.weights, ours.ratio**2)
    _, observed, stated = collected(ours, 0, wrong)
    assert abs(observed / stated - 1) > 0.2


def test_sampled_tables_need_more_people():
    workload, ours, _ = pairs()
    best = min(
        st.evaluate(workload, one).objective
        for one in sampled_tables(workload.structure.spectrum, 1.0).values()
    )
    assert best > 1.09 * st.evaluate(workload, ours).objective


@pytest.mark.exhaustive
@pytest.mark.parametrize("epsilon", WRONG)
def test_synthetic_people_are_no_further_from_the_truth_than_the_released_tables(epsilon):
    """The means over 36 tables had standard deviations of 5 % and 6 % over three searches, their ratio of 1 %.

    Both limits are five of these or more: a false alarm in less than one of 100,000 runs, if that is right.
    """
    workload, values = pairs()[0], people()[1]
    strategy = st.optimise(workload, epsilon, st.solvers.Junta(max_steps=1, max_seconds=2.0)).strategy
    counts = counted(strategy.randomise(values, np.random.default_rng(0)), strategy.outputs)
    release = st.estimation.release(st.estimate(strategy, counts, workload), 2)
    found = st.estimation.synthetic_people(release)
    released, synthetic, uniform = (
        distances(np.concatenate([table.ravel() for table in tables])).mean()
        for tables in (
            [table.counts for table in release.tables],
            [found.counts(*table.attributes) for table in release.tables],
            [np.full(table.counts.shape, USERS / table.counts.size) for table in release.tables],
        )
    )
    assert 24 <= len(found.fitted) < 36, "the usual model leaves some tables out"
    assert (released, synthetic) == pytest.approx(WRONG[epsilon], rel=0.3)
    assert synthetic / released == pytest.approx(WRONG[epsilon][1] / WRONG[epsilon][0], rel=0.06)
    assert uniform > 1.8 * synthetic, "the control"
