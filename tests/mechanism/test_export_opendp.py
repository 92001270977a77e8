"""Mechanisms as OpenDP measurements: they run, they compose, and their privacy map is the certificate."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

import stratagem as st
from mechanisms import mechanism
from stratagem.mechanism.client import exp_below
from stratagem.mechanism.export.opendp import certified_epsilon, to_opendp
from stratagem.mechanism.mechanism import Mechanism
from stratagem.strategies.two_level import two_levels
from tables import random_ldp_matrix
from tools import need_package


def columns(n: int, epsilon: float) -> Mechanism:
    """A mechanism whose table is a matrix."""
    matrix = random_ldp_matrix(np.random.default_rng(1), 2 * n, n, epsilon)
    return Mechanism.of(st.strategies.MatrixStrategy(matrix), st.histogram(n), epsilon)


def two_level(n: int, epsilon: float) -> Mechanism:
    return Mechanism.of(two_levels(st.published.randomised_response(n, epsilon)), st.histogram(n), epsilon)


@pytest.fixture
def dp():
    need_package("opendp")
    import opendp.prelude

    opendp.prelude.enable_features("contrib", "honest-but-curious")
    yield opendp.prelude
    opendp.prelude.disable_features("contrib", "honest-but-curious")


BUDGETS = (1e-6, 0.1, 0.3, 1.0, 5.0, 50.0)


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("kind", [columns, two_level])
def test_the_certified_epsilon_is_proven_in_whole_numbers_and_tight(kind, epsilon):
    mechanism = kind(5, epsilon) if kind is two_level or epsilon < 30 else two_level(5, epsilon)
    found, facts = certified_epsilon(mechanism), mechanism.bundle["certificate"]
    ratio = Fraction(int(facts["worst_high"]), int(facts["worst_low"]))
    assert ratio * 2**64 <= exp_below(*found.as_integer_ratio())
    below = found - 2**-49 * max(1.0, found)
    assert below <= 0 or ratio * 2**64 > exp_below(*below.as_integer_ratio())
    assert found <= epsilon + 1e-15


def test_one_output_costs_nothing():
    mechanism = Mechanism.of(two_levels(st.strategies.MatrixStrategy(np.ones((1, 4)))), st.total(4), 1.0)
    assert certified_epsilon(mechanism) == 0.0


@pytest.mark.parametrize("kind", [columns, two_level])
def test_the_map_is_the_certificate_at_every_distance(dp, kind):
    mechanism = kind(4, 1.0)
    measurement, epsilon = to_opendp(mechanism), certified_epsilon(mechanism)
    assert [measurement.map(distance) for distance in (0, 1, 2)] == [0.0, epsilon, epsilon]
    assert measurement.check(1, 1.0)
    assert not measurement.check(1, 0.5)
    assert 0.5 < epsilon <= 1.0
    assert dp.m.make_randomized_response([0, 1, 2, 3], math.e / (math.e + 3)).map(2) == pytest.approx(1.0)


def statistic(measurement, mechanism: Mechanism, draws: int) -> tuple[float, float]:
    """Return chi-squared of the outputs of type 1 and its threshold at a false-alarm rate of 1e-9."""
    seen = Counter(measurement(1) for _ in range(draws))
    expected = draws * mechanism.strategy.forward(np.eye(mechanism.domain.size)[:, 1])
    observed = np.array([seen[y] for y in range(mechanism.outputs)])
    return ((observed - expected) ** 2 / expected).sum(), chi2.isf(1e-9, mechanism.outputs - 1)


def test_it_draws_from_the_column_of_the_user_type(dp):
    """False alarm once in 10^9 runs; the control claims the column of another type."""
    mechanism = two_level(4, 1.0)
    measurement = to_opendp(mechanism)
    found, threshold = statistic(measurement, mechanism, 2000)
    assert found < threshold
    found, threshold = statistic(lambda cell: measurement(cell + 1), mechanism, 2000)
    assert found > threshold


def test_it_composes_with_measurements_of_opendp(dp):
    measurement = to_opendp(two_level(4, 1.0))
    epsilon = measurement.map(1)
    twice = dp.c.make_composition([measurement, measurement])
    assert len(twice(2)) == 2
    assert twice.map(1) == pytest.approx(2 * epsilon)
    assert twice.map(1) >= 2 * epsilon
    mixed = dp.c.make_composition([measurement, measurement >> (lambda output: output + 100)])
    assert mixed(2)[1] >= 100
    space = measurement.input_space
    odometer = dp.c.make_adaptive_composition(*space, dp.max_divergence(), 1, [1.0])
    queryable = odometer(3)
    assert 0 <= queryable(measurement) < 6
    with pytest.raises(dp.OpenDPException):
        queryable(measurement)
    assert (dp.t.make_identity(*space) >> measurement).map(1) == epsilon


@pytest.mark.parametrize("value", [4, -1, 10**6])
def test_a_type_outside_the_domain_is_refused(dp, value):
    with pytest.raises(dp.OpenDPException, match="there are 4: give 0 to 3"):
        to_opendp(two_level(4, 1.0))(value)


def test_another_type_of_value_is_refused_by_opendp(dp):
    with pytest.raises(TypeError):
        to_opendp(two_level(4, 1.0))("one")


def test_several_attributes_go_through_their_number(dp):
    workload = st.histogram({"age": 3, "sex": st.labels("f", "m")})
    mechanism = st.mechanism.import_matrix(
        st.published.randomised_response(6, 3.0).matrix, workload, 3.0
    ).mechanism
    cell = mechanism.client.cell({"age": 2, "sex": "m"})
    assert cell == 5
    assert 0 <= to_opendp(mechanism)(cell) < 6


def test_translates_go_through_their_number_too(dp):
    found = mechanism("torus-window")
    measurement = to_opendp(found)
    # a frequency is off by 0.1, nine standard deviations, once in 10^18
    outputs = np.bincount([measurement(7) for _ in range(2000)], minlength=found.outputs)
    assert np.abs(outputs / 2000 - found.strategy.dense().matrix[:, 7]).max() < 0.1
    with pytest.raises(ValueError, match="10\\^30 user types, but a whole number of OpenDP"):
        to_opendp(mechanism("hundred"))


def test_without_its_features_opendp_takes_nothing_from_outside(dp):
    dp.disable_features("honest-but-curious")
    with pytest.raises(ValueError, match=r'enable_features\("honest-but-curious"\) first'):
        to_opendp(two_level(4, 1.0))
    dp.enable_features("honest-but-curious")
