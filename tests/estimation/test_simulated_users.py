"""Invariant strategies on users of huge domains: true answers, estimates, and errors as predicted."""

import numpy as np
import pytest

import stratagem as st
from stratagem.estimation.simulation import simulate_users
from stratagem.estimators import estimator


def junta(d, epsilon=1.0):
    inside = np.zeros((2, 2, 2), dtype=bool)
    inside[0, 0, 0] = inside[0, 1, 1] = True
    pattern = st.strategies.Pattern.of((0, 0, 0), inside)
    return st.strategies.JuntaStrategy((2,) * d, (tuple(range(d)),), (pattern,), np.ones(1), np.exp(epsilon))


def ratio(d, wrong=None):
    """Observed over predicted squared error and its standard error, from 60 repetitions of 4,000 users."""
    workload, strategy = st.marginals(f"2^{d}", 2), junta(d)
    values = (np.random.default_rng(1).random((50, d)) < 0.3).astype(int)
    found = simulate_users(workload, strategy, values, np.full(50, 80), repetitions=60)
    stated = found.predicted if wrong is None else wrong * found.predicted
    return found.observed.mean() / stated, found.observed.std(ddof=1) / 60**0.5 / stated


@pytest.mark.sampled(2)
@pytest.mark.parametrize("d", [10, 70])
def test_errors_are_those_predicted(d):
    """Normal approximation, false alarms about 1e-6; a prediction a quarter too large must be noticed."""
    value, error = ratio(d)
    assert abs(value - 1) < 5 * error
    value, error = ratio(d, wrong=1.25)
    assert abs(value - 1) > 5 * error


@pytest.mark.exhaustive
def test_windows_of_prefixes_are_predicted_by_user_type():
    solution = st.optimise(st.prefix(1500), 1.0, st.solvers.Orbit(patterns=4))
    values = np.array([[3], [700], [1499]])
    found = simulate_users(
        st.prefix(1500), solution.strategy, values, np.array([900, 50, 50]), repetitions=20
    )
    per_type = st.evaluate(st.prefix(1500), solution.strategy).per_type
    assert found.predicted == pytest.approx(per_type[[3, 700, 1499]] @ [900, 50, 50])
    assert 0.5 < found.ratio < 2
    assert found.truth[-1] == 1000


def test_bad_input_is_refused():
    values, workload = np.zeros((1, 10), int), st.marginals("2^10", 2)
    for change, words in (
        ({"repetitions": 1}, "at least 2"),
        ({"seed": -1}, "negative"),
        ({"seed": 0.5}, "whole"),
    ):
        with pytest.raises(ValueError, match=words):
            simulate_users(workload, junta(10), values, np.ones(1, int), **change)
    with pytest.raises(ValueError, match="at least one"):
        simulate_users(workload, junta(10), values, np.zeros(1, int))
    with pytest.raises(ValueError, match="whole numbers"):
        simulate_users(workload, junta(10), np.full((1, 10), 2), np.ones(1, int))
    with pytest.raises(st.UnsupportedWorkloadError):
        simulate_users(st.marginals("2^10", 4), junta(10), values, np.ones(1, int))


def test_simulate_takes_strategies_of_every_kind():
    """By the data vector where the domain can be counted; a prior would break the symmetry of the estimates."""
    workload, strategy, x = st.marginals("2^4", 2), junta(4), np.arange(16)
    found = st.simulate(workload, strategy, x, repetitions=3, seed=5)
    cells = strategy.coordinates(np.arange(1, 16))
    same = simulate_users(workload, strategy, cells, x[1:], repetitions=3, seed=5)
    np.testing.assert_array_equal(found.estimates, same.estimates)
    assert (
        found.predicted
        == same.predicted
        == pytest.approx(st.evaluate(workload, strategy).total_variance(x.sum()))
    )
    floats = st.simulate(workload, strategy, x.astype(float), repetitions=3, seed=5)
    np.testing.assert_array_equal(floats.estimates, found.estimates)
    with pytest.raises(ValueError, match="one by one"):
        st.simulate(workload, strategy, np.full(16, 1e9), repetitions=3)
    with pytest.raises(ValueError, match="attributes"):
        st.simulate(st.marginals("2^3", 2), strategy, np.ones(8), repetitions=3)
    with pytest.raises(ValueError, match="leave the prior out"):
        st.simulate(workload, strategy, x, repetitions=3, prior=np.full(16, 1 / 16))


def survey(*sizes):
    """A survey of the cells of two tables that share an attribute and the prefixes of a third, and its strategy."""
    domain = {f"a{k}": size for k, size in enumerate(sizes)}
    asked = st.Survey(domain).table("a0", "a1").table("a1", "a2").prefix("a3", weight=0.5)
    made = (((0, 1), 0.4), ((1, 2), 0.3), ((3,), 0.3))
    parts = [
        st.strategies.SurveyPart(
            own, st.published.randomised_response(int(np.prod([sizes[i] for i in own])), 1.0), share
        )
        for own, share in made
    ]
    return asked.workload, st.strategies.SurveyStrategy(sizes, tuple(parts))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rest", [(), (1000,) * 8], ids=["few", "10^27"])
def test_surveys_are_predicted_by_their_tables_whatever_all_attributes_make_together(rest):
    """Normal approximation, false alarms about 1e-6; a prediction a third too large must be noticed."""
    workload, strategy = survey(3, 2, 4, 5, *rest)
    values = np.random.default_rng(2).integers(0, 2, size=(40, 4 + len(rest)))
    found = simulate_users(workload, strategy, values, np.full(40, 50), repetitions=120)
    assert found.standard_errors is not None
    assert np.square(found.standard_errors).sum() == pytest.approx(found.predicted)
    np.testing.assert_allclose(found.truth, workload.answer_users(np.repeat(values, 50, axis=0)))
    assert abs(found.ratio - 1) < 5 * found.ratio_error
    assert abs(0.75 * found.ratio - 1) > 5 * 0.75 * found.ratio_error


def test_the_prediction_for_a_survey_is_that_of_all_its_user_types():
    workload, strategy = survey(3, 2, 4, 5)
    x = np.random.default_rng(3).integers(0, 9, size=workload.domain_size)
    found = st.simulate(workload, strategy, x, repetitions=2)
    assert found.predicted == pytest.approx(st.evaluate(workload, strategy).total_variance(x))
    each = estimator(strategy).variances(workload, x)
    np.testing.assert_allclose(found.standard_errors, np.sqrt(each))
    assert found.users == x.sum()
