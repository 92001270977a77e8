"""Tests of association: the stated share of false alarms, which the plain test is far from, and power."""

import numpy as np
import pytest
from scipy.stats import binom, chi2
from test_marginal_release import juntas, reported

import stratagem as st

LEVEL = 0.05
MIXED = {"a": 3, "b": 2, "c": 4}
SHARES = np.einsum("i,j,k->ijk", [0.5, 0.3, 0.2], [0.4, 0.6], [0.4, 0.3, 0.2, 0.1])


def binary(run, users, strength=0.0):
    """Return the estimate of five attributes by juntas; the fourth copies the first for a share of the users."""
    rng, strategy = np.random.default_rng(run), juntas(5)
    values = (rng.random((users, 5)) < np.linspace(0.2, 0.8, 5)).astype(int)
    values[:, 3] = np.where(rng.random(users) < strength, values[:, 0], values[:, 3])
    return st.estimate(strategy, reported(strategy, values, rng), st.total("2^5"))


def categorical(run, users, strength=0.0):
    """Return the estimate of attributes with three and four values, by Hadamard response on all 24 cells."""
    rng, strategy = np.random.default_rng(run), st.hadamard_response(24, 1.0)
    shares = (1 - strength) * SHARES
    shares[0, :, 0] += strength / 4
    shares[1:, :, 3] += strength / 8
    x = rng.multinomial(users, shares.ravel())
    return st.estimate(strategy, strategy.histogram(x, rng), st.histogram(MIXED))


CASES = {"juntas": (binary, "a1", "a4"), "a matrix": (categorical, "a", "c")}


def plain(estimate, first, second, sizes):
    """Return the p-value of the test that takes a private table for an exact one."""
    table = estimate.marginal(first, second).answers.reshape(sizes)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / estimate.users
    return chi2.sf(np.sum((table - expected) ** 2 / expected), (sizes[0] - 1) * (sizes[1] - 1))


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", CASES)
def test_false_alarms_are_as_many_as_stated(case):
    """Of 200 tests of independent attributes a binomial number rejects: off the limits once in 10,000 a case.

    The plain chi-squared test, which ignores the noise of privacy, is the control: it rejects far too often.
    """
    collect, first, second = CASES[case]
    estimates = [collect(run, 6000) for run in range(200)]
    rejected = sum(st.association(one, first, second).p_value < LEVEL for one in estimates)
    assert binom.ppf(5e-5, 200, LEVEL) <= rejected <= binom.isf(5e-5, 200, LEVEL)
    sizes = (2, 2) if case == "juntas" else (3, 4)
    assert sum(plain(one, first, second, sizes) < LEVEL for one in estimates) > 100, "the control"


@pytest.mark.parametrize("case", CASES)
def test_dependence_is_found(case):
    """All of 20 collections of 60,000 reports."""
    collect, first, second = CASES[case]
    for run in range(20):
        assert st.association(collect(run, 60_000, 0.5), first, second).p_value < LEVEL


def test_degrees_and_order_of_the_attributes():
    estimate = categorical(0, 6000, 0.5)
    one, other = st.association(estimate, "a", "c"), st.association(estimate, "c", "a")
    assert one.degrees == other.degrees == 6
    assert one.statistic == pytest.approx(other.statistic)
    assert one.p_value == pytest.approx(chi2.sf(one.statistic, 6))


@pytest.mark.parametrize(("pair", "words"), [(("a", "a"), "given 2 times"), (("a", "z"), "'z' was given")])
def test_two_attributes_are_needed(pair, words):
    with pytest.raises(ValueError, match=words):
        st.association(categorical(0, 6000), *pair)


def test_an_attribute_of_one_value_has_no_association():
    strategy = st.hadamard_response(4, 1.0)
    estimate = st.estimate(strategy, np.ones(strategy.outputs, dtype=int), st.histogram({"a": 1, "b": 4}))
    with pytest.raises(ValueError, match="two or more values"):
        st.association(estimate, "a", "b")
