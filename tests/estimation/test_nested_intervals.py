"""Limits of recommended answers: whoever is counted by a query and by a larger one gives the first no higher limit."""

import numpy as np
import pytest

import stratagem as st
from stratagem.estimation.answer import Interval
from stratagem.estimation.impossibility import nested
from stratagem.mechanism.mechanism import Mechanism
from stratagem.workloads.combined import Weighted
from stratagem.workloads.selection import SomeQueries

DOMAIN = {"age": 6, "sex": 2}
SURVEY = st.Survey({"age": 24, "town": 3}).prefix("age", weight=0.2).table("age", "town").workload
WORKLOADS = {
    "prefixes": st.prefix(24),
    "weighted": Weighted(st.prefix(24), 0.3),
    "ranges": st.all_range(9),
    "short ranges": st.all_range(9, width=3),
    "a product": st.kron([st.prefix({"age": 6}), st.histogram({"sex": 2})]),
    "two orders": st.kron([st.prefix({"age": 6}), st.all_range({"height": 4})]),
    "rows": st.explicit([[1, 0, 0, 0], [1, 1, 0, 0], [0.5, 1, 0, 0], [2, 2, -1, 0], [2, 2, 0, 0]]),
    "some": SomeQueries(st.all_range(9), np.array([3, 40, 12, 44, 0, 3])),
    "some of several": SomeQueries(
        st.kron([st.prefix({"a": 6}), st.prefix({"b": 4})]), np.arange(23, -1, -3)
    ),
    "a survey": SURVEY,
}
APART = {"a survey"}
"""Of these nothing is compared from one question to another."""


def pairs(name):
    """Return which query (rows) is nowhere larger than which other one of its question (columns)."""
    workload = WORKLOADS[name]
    rows = workload.matrix()
    inside = (rows[:, None] <= rows + 1e-12).all(axis=2)
    if name in APART:
        question = np.arange(len(rows)) < 24
        inside &= question[:, None] == question
    return inside


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("seed", range(3))
def test_limits_are_the_tightest_that_are_nested_and_hold_the_given_ones(name, seed):
    rng, inside = np.random.default_rng(seed), pairs(name)
    low = rng.normal(size=len(inside))
    given = Interval(low, low + rng.exponential(size=len(inside)))
    found = nested(WORKLOADS[name], given)
    assert np.array_equal(found.low, np.where(inside, given.low, np.inf).min(axis=1))
    assert np.array_equal(found.high, np.where(inside, given.high.reshape(-1, 1), -np.inf).max(axis=0))


def test_long_chains_are_quick_and_nested():
    """Ten million comparisons a limit, were it not for their order."""
    rng, size = np.random.default_rng(1), 10**6
    found = nested(st.prefix(size), Interval(rng.normal(size=size), rng.normal(size=size) + 9))
    assert (np.diff(found.low) >= 0).all()
    assert (np.diff(found.high) >= 0).all()


def crossing(found):
    """Return how many limits of prefixes are above those of the next one."""
    return int((np.diff(found.low) < -1e-9).sum() + (np.diff(found.high) < -1e-9).sum())


@pytest.mark.parametrize("about", ["users", "population"])
def test_limits_of_recommended_answers_do_not_cross_and_hold_the_truth_as_often(about):
    """The control are the ends of the same intervals before they grow."""
    made = Mechanism.of(st.published.hierarchical(24, 1.0), st.prefix(24), 1.0)
    users = np.random.default_rng(3).multinomial(900, np.random.default_rng(4).dirichlet(np.full(24, 0.5)))
    truth, before = np.cumsum(users), 0
    for seed in range(20):
        counts = made.strategy.histogram(users, np.random.default_rng([5, seed]))
        found = made.estimate(counts, method="recommended", about=about)
        raw = found.raw()
        assert crossing(found) == 0
        assert (found.low <= found.answers).all()
        assert (found.answers <= found.high).all()
        held = (raw.low <= truth) & (truth <= raw.high)
        assert ((found.low <= truth) & (truth <= found.high))[held].all()
        before += crossing(Interval(np.clip(raw.low, 0, 900), np.clip(raw.high, 0, 900)))
    assert before > 0


def test_limits_of_shares_of_those_who_answered_do_not_cross_and_are_the_same_whichever_are_asked_for():
    """The control are shares of unbiased answers."""
    domain = {"age": st.bins("0:18:1", other=True, no_answer=True)}
    made = Mechanism.of(st.published.hierarchical(20, 1.0), st.prefix(domain), 1.0)
    users, before = np.random.default_rng(6).multinomial(900, np.r_[np.full(18, 0.05), 0.04, 0.06]), 0
    truth = np.cumsum(users[:18]) / users[:18].sum()
    for seed in range(20):
        counts = made.strategy.histogram(users, np.random.default_rng([7, seed]))
        found, plain = (
            st.estimation.shares(made.estimate(counts, method=method))
            for method in ("recommended", "unbiased")
        )
        ends = Interval(*(np.array([getattr(one, end) for one in found]) for end in ("low", "high")))
        own = np.array([one.share for one in found])
        assert len(found) == 18
        assert crossing(ends) == 0
        assert ((ends.low <= own) & (own <= ends.high)).all()
        assert found[3:9:2] == st.estimation.shares(made.estimate(counts, method="recommended"), [3, 5, 7])
        held = np.array([one.low <= true <= one.high for one, true in zip(plain, truth, strict=True)])
        assert ((ends.low <= truth + 1e-12) & (truth <= ends.high + 1e-12))[held].all()
        before += crossing(
            Interval(*(np.array([getattr(one, end) for one in plain]) for end in ("low", "high")))
        )
    assert before > 0


@pytest.mark.parametrize("size", [20, 300])
def test_limits_of_answered_shares_of_many_prefixes_never_cross(size):
    """Of 300 the rows are too many to be compared one with another: the order of the prefixes is used."""
    workload = st.prefix({"age": st.bins(f"0:{size}:1", no_answer=True)})
    counts = np.random.default_rng(3).multinomial(2000, np.full(size + 1, 1 / (size + 1)))
    made = st.published.randomised_response(size + 1, 3.0)
    found = st.estimation.shares(st.estimate(made, counts, workload, method="recommended"))
    assert len(found) >= size - 1
    assert np.all(np.diff([one.low for one in found]) >= 0)
    assert np.all(np.diff([one.high for one in found]) >= 0)
