"""Observed errors are those predicted, on real data; with the wrong epsilon they are not."""

import numpy as np
import pytest

import stratagem as st
from evidences import draw
from flights import delays
from stratagem.estimators import estimator

REPETITIONS = 200
FALSE_ALARM = 5.0
"""Standard errors that the mean of 200 squared errors may be off.

The total squared error is a weighted sum of chi-squares, skewed, so its mean over 200 repetitions has a
heavier lower tail than a normal: of 40,000 sets of 200, drawn from the Gaussian limit of the hierarchical
mechanism, two were off by more than 5 standard errors, a false-alarm rate of about 1 in 20,000 a test
(and the seeds are fixed).
"""


def z_score(observed: np.ndarray, predicted: float) -> float:
    """How many of its standard errors the mean of `observed` is off."""
    return (observed.mean() - predicted) / (observed.std(ddof=1) / np.sqrt(len(observed)))


STRATEGIES = {
    "randomised response": lambda epsilon: st.published.randomised_response(64, epsilon),
    "hierarchical": lambda epsilon: st.published.hierarchical(64, epsilon),
    "hadamard response": lambda epsilon: st.published.hadamard_response(64, epsilon, 8),
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_observed_error_is_the_predicted_one(name):
    run = st.simulate(st.prefix(64), STRATEGIES[name](1.0), delays(), repetitions=REPETITIONS, seed=1)
    assert run.users == 327_789
    assert abs(z_score(run.observed, run.predicted)) < FALSE_ALARM
    assert run.ratio == pytest.approx(1, abs=FALSE_ALARM * run.ratio_error)


@pytest.mark.exhaustive
def test_an_optimised_strategy_keeps_its_promise():
    solver = st.ProjectedGradient(outputs=256, max_steps=30)
    solution = st.optimise(st.prefix(64), 1.0, solver)
    run = st.simulate(solution.workload, solution.strategy, delays(), repetitions=REPETITIONS)
    assert abs(z_score(run.observed, run.predicted)) < FALSE_ALARM
    assert run.predicted == pytest.approx(solution.accuracy.total_variance(delays()))


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("wrong", [0.9, 1.1])
def test_reports_made_with_another_epsilon_fail_the_same_test(name, wrong):
    """The negative control: clients randomise with `wrong`, the server believes in epsilon 1."""
    W, believed = st.prefix(64), STRATEGIES[name](1.0)
    counts = draw(STRATEGIES[name](wrong), delays(), REPETITIONS, seed=1)
    observed = np.square(W.answer(estimator(believed).estimated_data(counts) - delays()[:, None])).sum(axis=0)
    predicted = st.evaluate(W, believed).total_variance(delays())
    assert abs(z_score(observed, predicted)) > FALSE_ALARM


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("wrong", [0.8, 1.25])
def test_a_prediction_for_another_epsilon_fails_the_same_test(name, wrong):
    """The subtler control: unbiased estimates, but the error predicted for another epsilon."""
    run = st.simulate(st.prefix(64), STRATEGIES[name](1.0), delays(), repetitions=REPETITIONS, seed=1)
    predicted = st.evaluate(st.prefix(64), STRATEGIES[name](wrong)).total_variance(delays())
    assert abs(z_score(run.observed, predicted)) > FALSE_ALARM


def test_every_answer_is_off_by_its_own_standard_error():
    W, Q = st.prefix(64), st.published.hierarchical(64, 1.0)
    counts = draw(Q, delays(), REPETITIONS, seed=2)
    errors = W.answer(estimator(Q).estimated_data(counts)) - W.answer(delays())[:, None]
    run = st.simulate(W, Q, delays(), repetitions=2, seed=2)
    assert run.standard_errors is not None
    assert np.square(run.standard_errors).sum() == pytest.approx(run.predicted)
    assert np.allclose(run.estimates - run.truth, errors[:, 0], atol=1e-6)
    # 63 answers, each with relative spread 1/sqrt(400): 5 of them is a false alarm once in 20,000 runs
    assert np.allclose(
        errors[:-1].std(axis=1) / run.standard_errors[:-1], 1, atol=5 / np.sqrt(2 * REPETITIONS)
    )
    assert run.standard_errors[-1] < 1e-3 * run.users
    assert abs(errors[-1]).max() < 1e-6 * run.users


@pytest.mark.parametrize("workload", [st.total(4), st.weighted(st.total(4), 3.0)], ids=["total", "weighted"])
def test_answers_without_noise_are_exact_and_have_no_ratio(workload):
    strategy = st.optimise(workload, 1.0).strategy
    run = st.simulate(workload, strategy, np.array([50, 30, 15, 5]))
    assert run.exact
    assert run.predicted == 0
    assert np.isnan(run.ratio)
    assert run.estimates == pytest.approx(run.truth)


def test_a_prior_may_be_counts():
    x, strategy = np.array([50, 30, 15, 5]), st.published.randomised_response(4, 1.0)
    runs = [st.simulate(st.prefix(4), strategy, x, prior=p) for p in ([3, 1, 0, 0], [0.75, 0.25, 0, 0])]
    assert runs[0].predicted == pytest.approx(runs[1].predicted)
    with pytest.raises(ValueError, match="4 numbers"):
        st.simulate(st.prefix(4), strategy, x, prior=[1, 1])


def test_a_seed_repeats_a_run_and_another_does_not():
    runs = [
        st.simulate(
            st.histogram(4),
            st.published.randomised_response(4, 1.0),
            np.full(4, 50),
            repetitions=3,
            seed=seed,
        )
        for seed in (7, 7, 8)
    ]
    assert (runs[0].observed == runs[1].observed).all()
    assert (runs[0].observed != runs[2].observed).all()


def test_one_user_type_has_no_error_to_predict():
    run = st.simulate(st.total(1), st.published.randomised_response(1, 1.0), np.array([5]), repetitions=2)
    assert run.predicted == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("x", "options", "words"),
    [
        ([0, 0, 0, 0], {}, "no people"),
        ([1, 1, 1, 1], {"repetitions": 1}, "at least 2"),
        ([1, 1, 1, 1], {"seed": -1}, "negative"),
        ([1, 1, 1], {}, "4 nonnegative whole numbers"),
        ([1, 1, 1, 0.5], {}, "4 nonnegative whole numbers"),
    ],
)
def test_wrong_input_is_refused(x, options, words):
    with pytest.raises(ValueError, match=words):
        st.simulate(st.histogram(4), st.published.randomised_response(4, 1.0), np.array(x), **options)


def test_a_simulation_says_what_came_out():
    x = np.array([500, 300, 150, 50])
    run = st.simulate(st.prefix(4), st.published.randomised_response(4, 1.0), x, repetitions=20)
    text = str(run)
    assert "4 queries, 1,000 people, 20 repetitions" in text
    assert f"{run.ratio:.3f} ± {run.ratio_error:.3f} of it" in text
    exact = st.simulate(st.total(4), st.published.randomised_response(4, 1.0), x, repetitions=2)
    assert "none was predicted" in str(exact)
