"""Rectangular channels beside the square count program."""

import math

import numpy as np
import pytest

import stratagem as st
from stratagem import counts


def test_rectangular_channels_win_where_many_reports_are_combined():
    """The square program's channel is randomised response; the histogram and prefixes gain from more outputs."""
    plain = st.study.rectangular(7, epsilon=1.0)
    response = st.evaluate(st.histogram(8), st.published.randomised_response(8, 1.0))
    assert plain.objective == pytest.approx(response.objective, rel=1e-4)
    assert plain.rectangular.strategy.outputs > 8
    assert plain.rectangular.strategy.epsilon <= 1.0
    assert plain.gain > 1.2
    prefixes = st.study.rectangular(7, epsilon=1.0, workload=st.prefix(8))
    assert prefixes.gain > plain.gain
    assert prefixes.objective >= prefixes.rectangular.lower_bound
    assert f"{plain.gain:.4g} times less" in str(plain)


def test_at_a_large_budget_and_a_mild_prior_the_square_channel_is_all_it_takes():
    """Negative control: three values at eps = 4, where randomised response is the optimal strategy."""
    prior = np.array([0.36, 0.33, 0.31])
    found = st.study.rectangular(2, epsilon=4.0, prior=prior)
    assert found.rectangular.prior == pytest.approx(prior)
    assert found.gain == pytest.approx(1, abs=2e-3)
    assert found.square.cost == counts.design(2, epsilon=4.0, prior=prior, reach=2).cost


def test_a_square_channel_that_cannot_answer_gains_without_bound():
    """Under L2 the square program leaves outputs out, and what is left cannot tell all values apart."""
    found = st.study.rectangular(4, epsilon=1.0, loss="L2")
    assert found.accuracy is None
    assert found.objective == found.gain == math.inf
    assert "square      5 outputs, objective inf" in str(found)


def test_a_workload_of_another_domain_is_refused():
    with pytest.raises(ValueError, match="same domain"):
        st.study.rectangular(3, 0.5, workload=st.histogram(5))
