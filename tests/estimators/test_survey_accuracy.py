"""Surveys through their own estimator and through the matrix of all reports: the same numbers."""

import math

import numpy as np
import pytest

import stratagem as st
from stratagem.estimators import UnsupportedWorkloadError, estimator, evaluate
from stratagem.estimators.best_linear import BestLinear
from stratagem.strategies import MatrixStrategy, SplitStrategy, SurveyPart, SurveyStrategy
from surveys import CELLS, PREFIX, survey

SIZES = {"age": 5, "sex": 2, "region": 3}


def tables(epsilon):
    """Return a strategy for prefixes of 5, and one for the table of 2 x 3 and its weighted second margin."""
    both = [
        st.kron([CELLS({"sex": 2}), CELLS({"region": 3})]),
        st.kron([st.total({"sex": 2}), st.weighted(CELLS({"region": 3}), 2.0)]),
    ]
    return st.optimise(PREFIX(5), epsilon).strategy, st.optimise(st.stack(both), epsilon).strategy


ASKED = {
    "its own queries": (
        ({"age": PREFIX},),
        ({"sex": CELLS, "region": CELLS},),
        ({"region": CELLS}, 2.0),
    ),
    "others of its tables": (({"age": CELLS}, 3.0), ({"sex": CELLS},), ({},)),
    "one part": (({"sex": CELLS, "region": PREFIX},),),
}


@pytest.fixture(params=["two levels", "columns", "translates"])
def strategy(request):
    age, pair = tables(1.0)
    kinds = {
        "two levels": age,
        "columns": MatrixStrategy(st.published.randomised_response(5, 0.7).dense().matrix),
        "translates": st.optimise(CELLS(5), 1.0, solver=st.solvers.Orbit()).strategy,
    }
    parts = SurveyPart((0,), kinds[request.param], 0.4), SurveyPart((1, 2), pair, 0.6)
    return SurveyStrategy((5, 2, 3), parts)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", ASKED)
def test_the_numbers_are_those_of_the_matrix(strategy, name, rng):
    workload = survey(SIZES, *ASKED[name])
    own, listed = estimator(strategy), BestLinear(strategy.dense())
    one, two = own.accuracy(workload), listed.accuracy(workload)
    scale = max(1.0, two.per_type.max())
    assert one.objective == pytest.approx(two.objective, rel=1e-10)
    assert own.objective(workload) == pytest.approx(two.objective, rel=1e-10)
    assert np.allclose(one.per_type, two.per_type, rtol=1e-9, atol=1e-9 * scale)
    x = rng.integers(0, 50, 30)
    for data in (x, None):
        assert np.allclose(
            own.variances(workload, data), listed.variances(workload, data), rtol=1e-8, atol=1e-7
        )
    assert (np.asarray(own.largest(workload)) >= np.asarray(listed.largest(workload)) - 1e-9).all()
    counts = strategy.histogram(x, rng)
    mine, theirs = own.evidence(counts), listed.evidence(counts)
    assert mine.users == theirs.users == x.sum()
    assert np.allclose(mine.answers(workload), theirs.answers(workload), rtol=1e-9, atol=1e-7)
    assert np.allclose(mine.prior_variances(workload), theirs.prior_variances(workload), rtol=1e-8, atol=1e-8)
    for about in ("users", "population"):
        found, right = mine.variances(workload, about), theirs.variances(workload, about)
        assert np.allclose(found, right, rtol=1e-7, atol=1e-6 * right.max())
    found, right = (one.covariance(workload, "population") for one in (mine, theirs))
    assert np.allclose(found, right, rtol=1e-7, atol=1e-7 * np.abs(right).max())


@pytest.mark.sampled(3)
def test_reports_have_the_probabilities_of_the_matrix(strategy):
    assert np.allclose(strategy.dense().matrix.sum(axis=0), 1, atol=1e-12)
    assert strategy.epsilon >= strategy.dense().epsilon - 1e-9
    assert strategy.guess == pytest.approx(strategy.dense().guess, rel=1e-6)


@pytest.mark.sampled(3)
def test_draws_follow_the_matrix(strategy):
    """False alarms: once in 10^6 runs, by the normal quantile 4.9 over about 50 outputs at once."""
    rng, N = np.random.default_rng(5), 200_000
    expected = strategy.dense().matrix[:, 7] * N
    seen = np.bincount(strategy.randomise(np.full(N, 7), rng), minlength=strategy.outputs)
    off = np.abs(seen - expected) / np.sqrt(np.maximum(expected, 1))
    assert off.max() < 6
    other = np.bincount(strategy.randomise(np.full(N, 22), rng), minlength=strategy.outputs)
    assert (np.abs(other - expected) / np.sqrt(np.maximum(expected, 1))).max() > 6, "another type is noticed"


@pytest.mark.sampled(3)
def test_a_query_of_two_parts_is_refused(strategy):
    with pytest.raises(UnsupportedWorkloadError, match="age, sex together"):
        evaluate(survey(SIZES, ({"age": CELLS, "sex": CELLS},)), strategy)


def test_everybody_is_counted_by_any_part():
    """Also where no part asks for the first attribute, by which margins name queries about everybody."""
    strategy = SurveyStrategy((5, 2), (SurveyPart((1,), st.published.randomised_response(2, 1.0), 1.0),))
    found = evaluate(st.total({"age": 5, "sex": 2}), strategy)
    assert found.worst_case_variance == pytest.approx(0, abs=1e-9)


def test_a_question_of_two_parts_is_answered_by_both():
    age, _ = tables(1.0)
    workload = survey({"age": 5}, ({"age": PREFIX},))
    parts = SurveyPart((0,), st.published.randomised_response(5, 0.1), 0.5), SurveyPart((0,), age, 0.5)
    both, good = SurveyStrategy((5,), parts), SurveyStrategy((5,), (SurveyPart((0,), age, 1.0),))
    together = evaluate(workload, both).objective
    known = 5 * float(np.square(np.arange(1, 6) / 5).sum())
    alone = 2 * (evaluate(workload, good).objective - known)
    assert 0.9 * alone < together - known < alone
    assert together == pytest.approx(BestLinear(both.dense()).objective(workload), rel=1e-9)


def test_domains_of_any_size():
    many = {f"q{i}": 100 for i in range(30)}
    one = st.published.randomised_response(100, 1.0)
    strategy = SurveyStrategy((100,) * 30, tuple(SurveyPart((i,), one, 1 / 30) for i in range(30)))
    workload = survey(many, *(({name: CELLS},) for name in many))
    alone = evaluate(CELLS(100), one)
    accuracy = evaluate(workload, strategy)
    spread = 99 / 100
    per_user = 30 * (30 * alone.average_variance + spread * 29)
    assert accuracy.worst_case_variance == pytest.approx(per_user, rel=1e-9)
    assert accuracy.average_variance == pytest.approx(per_user, rel=1e-9)
    counts = np.bincount(
        strategy.randomise(np.zeros((3000, 30), int), np.random.default_rng(1)), minlength=3000
    )
    assert estimator(strategy).evidence(counts).answers(workload)[::100].mean() == pytest.approx(
        3000, rel=0.2
    )


def test_a_split_budget_adds_up():
    workload = survey({"a": 4, "b": 6}, ({"a": CELLS},), ({"b": CELLS},))
    each = [st.published.randomised_response(k, 0.5) for k in (4, 6)]
    split = SplitStrategy((4, 6), tuple(SurveyPart((i,), one, 1.0) for i, one in enumerate(each)))
    found = evaluate(workload, split)
    assert split.epsilon == pytest.approx(1.0)
    alone = [evaluate(CELLS(k), one) for k, one in zip((4, 6), each, strict=True)]
    assert found.average_variance == pytest.approx(sum(one.average_variance for one in alone))


@pytest.mark.parametrize(
    ("attributes", "share", "match"),
    [((1,), 1.0, "attributes"), ((0,), 0.5, "sum 1"), ((0, 0), 1.0, "attributes"), ((2,), 1.0, "attributes")],
)
def test_parts_that_do_not_fit_are_refused(attributes, share, match):
    with pytest.raises(ValueError, match=match):
        SurveyStrategy((4, 6), (SurveyPart(attributes, st.published.randomised_response(4, 1.0), share),))


@pytest.mark.sampled(2)
def test_no_report_of_a_part_is_said(strategy):
    counts = np.zeros(strategy.outputs, dtype=int)
    counts[0] = 10
    evidence = estimator(strategy).evidence(counts)
    with pytest.raises(ValueError, match="collect more reports"):
        evidence.answers(survey(SIZES, ({"sex": CELLS},)))
    assert math.isfinite(evidence.answers(survey(SIZES, ({"age": CELLS},))).sum())
