"""Recommended answers: inside their intervals, possible, and one number for one cell, whatever it is asked with."""

import numpy as np
import pytest

import stratagem as st
from stratagem.estimation.postprocessing import answered_by
from stratagem.mechanism.mechanism import Mechanism

DOMAIN = {"age": 5, "sex": 2, "town": 3}
X = np.random.default_rng(3).multinomial(600, np.random.default_rng(4).dirichlet(np.full(30, 0.3)))
TABLES = st.marginals(DOMAIN, 2)


def surveyed(workload=TABLES, epsilon=1.0):
    return Mechanism.of(st.published.hadamard_response(30, epsilon), workload, epsilon)


def estimated(found, seed, **options):
    return found.estimate(found.strategy.histogram(X, np.random.default_rng([21, seed])), **options)


@pytest.mark.parametrize("method", ["recommended", "maximum-entropy"])
@pytest.mark.parametrize("about", ["users", "population"])
def test_intervals_hold_their_answers_and_are_possible(method, about):
    outside = 0
    for seed in range(20):
        found = estimated(surveyed(), seed, method=method, about=about)
        raw = found.raw()
        assert (found.low <= found.answers).all()
        assert (found.answers <= found.high).all()
        assert found.low.min() >= -1e-6
        assert found.high.max() <= found.users + 1e-6
        assert (found.low <= np.maximum(raw.low, 0)).all()
        assert (found.high >= np.minimum(raw.high, found.users)).all()
        outside += np.count_nonzero((found.answers < raw.low) | (found.answers > raw.high) | (raw.low < 0))
    assert outside, "the control: the intervals of the unbiased answers"


def test_intervals_of_recommended_answers_cover_as_often_as_the_unbiased_ones():
    """What is cut away cannot be true: every interval that held the truth holds it still."""
    truth = TABLES.answer(X)
    for seed in range(100):
        found = estimated(surveyed(), seed, method="recommended")
        raw = found.raw()
        held = (raw.low <= truth) & (truth <= raw.high)
        assert ((found.low <= truth) & (truth <= found.high))[held].all()


@pytest.mark.parametrize("method", ["recommended", "maximum-entropy"])
def test_intervals_are_not_narrower_the_farther_the_unbiased_answers_lie_outside(method):
    """A share of 100 % that was estimated as 115 % is as uncertain as one that was estimated as 100 %."""
    outside = 0
    for seed in range(20):
        found = estimated(surveyed(), seed, method=method)
        raw = found.raw()
        assert (found.high - found.low >= 0.999 * np.minimum((raw.high - raw.low) / 2, found.users)).all()
        outside += np.count_nonzero((raw.high < 0) | (raw.low > found.users))
    assert outside, "the control: whole intervals of unbiased answers outside what is possible"


def test_intervals_of_unbiased_answers_stay_around_them():
    found = estimated(surveyed(), 0)
    assert found.low.min() < 0
    assert found.answers - found.low == pytest.approx(found.high - found.answers)


ASKED = {
    "a table": st.kron([st.histogram({"age": 5}), st.histogram({"sex": 2}), st.total({"town": 3})]),
    "one attribute": st.kron([st.total({"age": 5}), st.histogram({"sex": 2}), st.total({"town": 3})]),
    "a cell": st.explicit(np.kron(np.eye(5)[3], np.kron(np.eye(2)[1], np.ones(3)))[None], DOMAIN),
    "below an age": st.explicit(np.kron([1, 1, 0, 0, 0], np.ones(6))[None], DOMAIN),
}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("method", ["recommended", "maximum-entropy"])
def test_one_cell_has_one_answer_whatever_it_is_asked_with(name, method):
    whole = estimated(surveyed(), 1, method=method)
    first = whole.answers[: 5 * 2].reshape(5, 2)
    expected = {
        "a table": first.ravel(),
        "one attribute": first.sum(axis=0),
        "a cell": first[3, [1]],
        "below an age": first[:2].sum(keepdims=True).ravel(),
    }[name]
    assert whole.ask(ASKED[name]).answers == pytest.approx(expected)
    assert whole.ask(ASKED["a table"]).ask(ASKED[name]).answers == pytest.approx(expected)
    alone = estimated(surveyed(), 1, method=method, workload=ASKED[name])
    assert alone.answers == pytest.approx(expected), "also when it is asked by itself"
    assert whole.marginal("sex").answers == pytest.approx(first.sum(axis=0))
    apart = st.estimate(surveyed().strategy, whole.evidence.counts, ASKED[name], method=method)
    assert np.abs(apart.answers - expected).max() > 0.01, "the control: processed for these queries alone"


@pytest.mark.parametrize(
    ("base", "asked", "same"),
    [
        (st.histogram(6), st.explicit(np.eye(1, 6)), True),
        (st.prefix(6), st.histogram(6), True),
        (st.prefix(6), st.all_range(6), True),
        (st.histogram(6), st.prefix(6), False),  # sums of many cells: those of prefixes are nearer
        (st.marginals("2^3", 1), st.marginals("2^3", 2), False),
        (st.marginals("2^3", 2), st.marginals("2^3", 1), True),
        (st.explicit([[1.0, 1, 0, 0]]), st.explicit([[0, 0, 1.0, 1]]), True),  # the rest of all users
        (st.explicit([[1.0, 1, 0, 0]]), st.explicit([[1.0, 0, 0, 0]]), False),
        (st.histogram(6), st.histogram({"a": 2, "b": 3}), False),
    ],
)
def test_what_a_data_vector_answers(base, asked, same):
    assert answered_by(base, asked) == same
