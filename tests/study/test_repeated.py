"""Mechanisms for repeated reports: between their bound and published protocols on their own formulas."""

import importlib.util
import math

import numpy as np
import pytest

import stratagem as st
from pages import FOLDER
from stratagem.study.repeated import variances_of_means

ONCE, PERMANENT = 0.5, 2.0


def memoised(workload, epsilon, permanent, reports=1, **options):
    return st.optimise(workload, epsilon, constraints=[st.Permanent(permanent, reports)], **options)


def variance(solution):
    """Return the total variance that one user adds to answers from the mean."""
    return solution.problem.added(solution.objective)


def chosen_for(solution):
    """Return the epsilon for which the sets of the rows are best."""
    return float(solution.reason.removeprefix("rows for epsilon "))


@pytest.fixture(scope="module")
def published():
    """The formulas of the documentation's picture."""
    found = importlib.util.spec_from_file_location("repeated_picture", FOLDER / "repeated.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def two_steps(p1, q1, p2, q2):
    """Return the probabilities of a bit of one report where the bit is set and where it is not."""
    return p1 * p2 + (1 - p1) * q2, q1 * p2 + (1 - q1) * q2


def test_one_report_of_the_published_protocols_has_its_epsilon():
    """The second steps as published, from the budgets: a ratio of e^0.5 in one report."""
    E, F = math.exp(ONCE), math.exp(PERMANENT)
    p2 = (1 - E * F) / (E - F - E * F + 1)
    p, q = two_steps(0.5, 1 / (F + 1), p2, 1 - p2)
    assert p * (1 - q) / (q * (1 - p)) == pytest.approx(E)
    for g in (2, 5, 30):
        p1, p2 = F / (F + g - 1), (E * (F + g - 2) - (g - 1)) / ((E + g - 1) * (F - 1))
        assert (p1 * p2 + (1 - p1) * (1 - p2) / (g - 1)) == pytest.approx(E / (E + g - 1))


@pytest.mark.parametrize("reports", [1, pytest.param(1000, marks=pytest.mark.exhaustive)])
def test_one_and_many_reports_are_better_than_published(reports, published):
    found = memoised(st.histogram(published.SIZE), ONCE, PERMANENT, reports)
    assert -1e-9 <= found.variance_gap < 0.02
    for other in (published.l_osue, published.ololoha):
        assert variance(found) < other(ONCE, PERMANENT, reports)


@pytest.mark.exhaustive
def test_some_reports_are_a_little_worse_than_bits_that_are_randomised_one_by_one(published):
    """What the guide says of 10 to 30 reports: within 4 % of L-OSUE, better than OLOLOHA."""
    for reports in (10, 30):
        found = memoised(st.histogram(published.SIZE), ONCE, PERMANENT, reports)
        assert 1 < variance(found) / published.l_osue(ONCE, PERMANENT, reports) < 1.04
        assert variance(found) < published.ololoha(ONCE, PERMANENT, reports)
        assert ONCE < chosen_for(found) <= PERMANENT


@pytest.mark.exhaustive
def test_one_report_costs_nothing_more_with_a_memo():
    found = memoised(st.prefix(6), ONCE, PERMANENT)
    alone = st.optimise(st.prefix(6), ONCE)
    assert variance(found) == pytest.approx(alone.accuracy.average_variance, rel=2e-3)
    assert found.mechanism().strategy.epsilon <= ONCE
    assert found.lower_bound <= found.objective
    assert "reports" in str(found)


@pytest.mark.exhaustive
def test_sets_for_one_report_are_worse_for_the_mean_of_many():
    """The negative control: the choice matters, and a mean of 200 is worse with the sets of one report."""
    many, one = (memoised(st.histogram(8), ONCE, PERMANENT, k) for k in (200, 1))
    assert variance(many) < 0.99 * variances_of_means(one.mechanism(), [200])[0]
    assert chosen_for(many) > chosen_for(one) == ONCE


def test_interrupting_keeps_the_best_so_far():
    steps = []
    found = memoised(st.histogram(6), ONCE, PERMANENT, 50, on_step=lambda step: steps.append(step) or True)
    assert len(steps) == 1
    assert chosen_for(found) == ONCE
    assert np.isfinite(found.gap)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"permanent": 0.5}, "must be above 0.5"),
        ({"permanent": 0.1}, "must be above 0.5"),
        ({"permanent": math.nan}, "epsilon is nan"),
        ({"reports": 0}, "number of reports"),
        ({"reports": 2.5}, "number of reports"),
        ({"reports": 10_001}, "number of reports"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(options, words):
    with pytest.raises(ValueError, match=words):
        memoised(st.histogram(4), **({"epsilon": ONCE, "permanent": PERMANENT} | options))
