"""A kind of strategy that somebody adds: one class, with a matrix, is estimated from, rounded and audited by it."""

from dataclasses import dataclass

import numpy as np
import pytest

import stratagem as st
from stratagem.auditor.planning import planner
from stratagem.estimation.estimation import estimate
from stratagem.estimators import estimator
from stratagem.mechanism.mechanism import Mechanism
from stratagem.strategies import MatrixStrategy, Randomiser


@dataclass(frozen=True)
class Neighbour(Randomiser):
    """Report the own value with probability p, else the next one on a circle of three."""

    p: float
    domain_size = 3
    outputs = 3

    @property
    def epsilon(self):
        return self.dense().epsilon

    def dense(self):
        rest = (1 - self.p) / 2
        return MatrixStrategy(np.full((3, 3), rest) + (self.p - rest) * np.eye(3))


@pytest.fixture
def kind():
    return Neighbour(0.5)


def test_it_is_evaluated_and_estimated_from(kind):
    workload, counts = st.prefix(3), np.array([30, 50, 20])
    expected = estimate(kind.dense(), counts, workload)
    found = estimate(kind, counts, workload)
    np.testing.assert_array_equal(found.answers, expected.answers)
    np.testing.assert_array_equal(found.standard_errors, expected.standard_errors)
    prior = np.array([0.5, 0.25, 0.25])
    assert st.evaluate(workload, kind).objective == st.evaluate(workload, kind.dense()).objective
    own = estimator(kind, prior).objective(workload)
    assert own == estimator(kind.dense(), prior).objective(workload) != st.evaluate(workload, kind).objective


def test_it_becomes_a_mechanism_that_is_audited(kind):
    made = Mechanism.of(kind, st.histogram(3), np.log(2) + 1e-9)
    assert made.strategy.epsilon <= np.log(2) + 1e-9
    assert planner(kind) == planner(kind.dense())


def test_what_is_no_strategy_is_refused():
    with pytest.raises(TypeError, match="no formula of its variance"):
        estimator(np.eye(3))
