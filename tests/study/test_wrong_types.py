"""Parameters of the wrong kind: one sentence each, never a bare TypeError."""

import numpy as np
import pytest

import stratagem as st

W = st.prefix(4)


def simulated(x, **options):
    return st.simulate(W, st.published.randomised_response(4, 1.0), x, **options)


PAIR = st.histogram({"a": 2, "b": 2})


def estimated():
    strategy = st.published.randomised_response(4, 1.0)
    return st.estimate(strategy, strategy.histogram(np.full(4, 500), np.random.default_rng(0)), PAIR)


ONES = np.ones(4, int)
CASES = {
    "seed text": (lambda: st.Certified(seed="a"), "seed is 'a'"),
    "seed fraction": (lambda: st.ProjectedGradient(seed=1.5), "seed is 1.5"),
    "seed negative": (lambda: st.Auto(seed=-1), "seed is -1"),
    "gap text": (lambda: st.Certified(gap="x"), "gap is 'x'"),
    "tolerance text": (lambda: st.ProjectedGradient(tolerance="x"), "tolerance is 'x'"),
    "seconds text": (lambda: st.Certified(max_seconds="x"), "max_seconds is 'x'"),
    "seconds nan": (lambda: st.Auto(max_seconds=float("nan")), "max_seconds is nan"),
    "momentum text": (lambda: st.ProjectedGradient(momentum="x"), "momentum is 'x'"),
    "one budget": (lambda: st.study.path(W, 1.0), r"give several budgets"),
    "budgets as text": (lambda: st.study.path(W, "123"), r"give several budgets"),
    "outputs text": (lambda: st.study.trade_off(W, 1.0, ["a"]), "whole numbers of at least 4"),
    "outputs fraction": (lambda: st.study.trade_off(W, 1.0, [8.5]), "whole numbers of at least 4"),
    "outputs number": (lambda: st.study.trade_off(W, 1.0, 8), "whole numbers of at least 4"),
    "trade-off seconds": (lambda: st.study.trade_off(W, 1.0, [8], "x"), "max_seconds is 'x'"),
    "counts text": (lambda: simulated(["a"] * 4), "4 nonnegative whole numbers"),
    "counts fraction": (lambda: simulated([1, 2, 3, 4.5]), "4 nonnegative whole numbers"),
    "counts short": (lambda: simulated(ONES[:3]), "4 nonnegative whole numbers"),
    "counts nan": (lambda: simulated(np.full(4, np.nan)), "4 nonnegative whole numbers"),
    "counts huge": (lambda: simulated(np.full(4, 1e30)), "can be drawn"),
    "counts none": (lambda: simulated(0 * ONES), "counts no people"),
    "repetitions text": (lambda: simulated(ONES, repetitions="x"), "repetitions is 'x'"),
    "workloads as numbers": (lambda: st.bound_sweep([3, 4], 1.0), "3 was given among the workloads"),
    "solver by a number": (lambda: st.optimise(W, 1.0, 3), r"st.Auto\(\) or .quick"),
    "plot on a number": (lambda: st.study.trade_off(W, 1.0, [8]).plot(5), "5 was given to write"),
    "marginal repeated": (lambda: estimated().marginal("b", "b"), "'b' was given 2 times"),
    "marginal unknown": (lambda: estimated().marginal("c"), "domain has a, b"),
    "simulation seed": (lambda: simulated(ONES, seed=0.5), "seed is 0.5"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_wrong_kind_is_one_sentence(name):
    call, words = CASES[name]
    with pytest.raises(ValueError, match=words):
        call()


def test_the_right_kinds_of_numpy_are_taken():
    st.Certified(seed=np.int64(3), outputs=np.int32(8), gap=np.float64(0.1))
    assert simulated(ONES, repetitions=np.int64(3), seed=np.int64(1)).users == 4
