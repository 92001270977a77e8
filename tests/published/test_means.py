"""The mean of a number: workloads, command line, and the published mechanisms beside the optimum."""

import math

import numpy as np
import pytest

import stratagem as st
from commands import assert_refused, run_json
from protocols import deviation
from stratagem.published import MEANS
from stratagem.solvers.problem import problem_of
from stratagem.strategies import Hybrid, NumberReport, Piecewise, TwoEnds
from stratagem.study.ranking import rank_baselines

EPSILONS = [0.1, 0.5, 1.0, 2.0, 4.0, 8.0]
VALUES = np.array([18.0, 20.0, 35.0, 60.0, 98.0])


def two_ends(t, epsilon):
    """Duchi et al.: ((E + 1)/(E - 1))^2 - t^2."""
    return ((math.exp(epsilon) + 1) / math.expm1(epsilon)) ** 2 - t**2


def piecewise(t, epsilon):
    """Wang et al., Lemma 1."""
    s = math.exp(epsilon / 2)
    return t**2 / (s - 1) + (s + 3) / (3 * (s - 1) ** 2)


def hybrid(t, epsilon):
    """Wang et al., section III-C: the piecewise mechanism with probability 1 - e^(-epsilon/2) above 0.61."""
    share = -math.expm1(-epsilon / 2) if epsilon > 0.61 else 0.0
    return share * piecewise(t, epsilon) + (1 - share) * two_ends(t, epsilon)


FORMULAS = {
    "laplace": lambda t, epsilon: 8 / epsilon**2 + 0 * t,
    "duchi": two_ends,
    "piecewise": piecewise,
    "hybrid": hybrid,
}


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", FORMULAS)
def test_variances_are_those_that_were_published(name, epsilon):
    """For each user type, scaled from [18, 98] to [-1, 1] and back."""
    W, t = st.mean(VALUES), (VALUES - 58) / 40
    baseline = next(one for one in MEANS if one.name == name)
    (contender,) = rank_baselines(problem_of(W, epsilon), [baseline])
    assert contender.strategy.epsilon <= epsilon
    assert contender.strategy.epsilon == pytest.approx(epsilon, rel=1e-9)
    np.testing.assert_allclose(contender.accuracy.per_type, 1600 * FORMULAS[name](t, epsilon), rtol=1e-8)


def test_stochastic_rounding_is_the_mechanism_of_duchi():
    """Round to an end with the probability that keeps the mean, then keep the end with probability E/(E + 1)."""
    t, E = (VALUES - 58) / 40, math.exp(1.3)
    up = (1 + t) / 2
    np.testing.assert_allclose(
        st.published.duchi(VALUES, 1.3).matrix[0], (up * E + (1 - up)) / (E + 1), rtol=1e-12
    )


REPORTS = {
    "piecewise": st.published.piecewise(VALUES, 1.0),
    "hybrid": st.published.hybrid(VALUES, 1.0),
    "two ends": NumberReport((VALUES - 58) / 40, TwoEnds(1.5)),
    "wide": NumberReport(np.array([-0.3, 0.2, 0.9]), Piecewise(3.0)),
}


@pytest.mark.parametrize("name", REPORTS)
def test_reports_have_the_stated_mean_and_covariance(name, rng):
    """False alarm 4e-6; the controls, 900 more users of one type and a noisier sum, must fail."""
    protocol = REPORTS[name]
    x = rng.integers(50, 200, protocol.domain_size)
    values = np.repeat(np.arange(len(x)), x)
    assert deviation(protocol, lambda: protocol.histogram(x, rng), x, 200) == (True, True)
    reports = lambda: protocol.collect(protocol.randomise(values, rng))  # noqa: E731
    assert deviation(protocol, reports, x, 200) == (True, True)
    wrong = x + np.where(np.arange(len(x)) == 0, 900, 0)
    assert not deviation(protocol, lambda: protocol.histogram(wrong, rng), x, 200)[0]
    noisier = lambda: protocol.histogram(x, rng) + rng.normal(0, 100, 2) * [0, 1]  # noqa: E731
    assert not deviation(protocol, noisier, x, 200)[1]


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_the_piecewise_client_keeps_its_budget(epsilon, rng):
    """Counts in 16 bins, t = 1 over t = -1: no ratio is above E by 6 standard deviations, false alarm 2e-8."""
    law, E, N = st.published.piecewise([0, 1], epsilon).law, math.exp(epsilon), 1_000_000
    edges = np.linspace(-law.reach, law.reach, 17)
    low, high = (np.histogram(law.draw(np.full(N, t), rng), edges)[0] for t in (-1.0, 1.0))
    room = 6 * np.sqrt(high + E**2 * low)
    assert (high <= E * low + room).all()
    assert (high > 0.85 * E * low + room).any(), "the control: a smaller budget is seen to be broken"


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_compare_shows_the_published_means_beside_the_optimum(epsilon):
    table = st.compare(st.mean(range(16)), epsilon)
    rows = {row.mechanism: row.objective for row in table.rows}
    assert set(FORMULAS) | {"optimised"} <= set(rows)
    assert rows["optimised"] < min(rows[name] for name in FORMULAS)
    assert "laplace" not in {one.mechanism for one in rank_baselines(problem_of(st.prefix(4), epsilon))}


def test_mean_and_moments_are_sums_in_the_units_of_the_values():
    np.testing.assert_allclose(st.mean(VALUES).answer([1, 0, 2, 0, 1]), [18 + 70 + 98])
    np.testing.assert_allclose(st.moments(VALUES, 3).matrix(), [VALUES, VALUES**2 / 98, VALUES**3 / 98**2])
    assert st.mean([1, 2, 4], "age=3").domain.names == ("age",)
    assert st.mean([-3, 0, 3]).queries == 1


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_the_optimum_does_not_depend_on_where_the_values_lie(epsilon):
    first = st.optimise(st.mean(VALUES), epsilon)
    moved = st.optimise(st.mean(3 * VALUES - 1000), epsilon)
    assert first.accuracy.average_variance * 9 == pytest.approx(moved.accuracy.average_variance, rel=2e-3)


WRONG = {
    "text": lambda: st.mean(["a", "b"]),
    "table": lambda: st.mean([[1, 2], [3, 4]]),
    "nan": lambda: st.mean([1.0, math.nan]),
    "zeros": lambda: st.mean([0, 0]),
    "ragged": lambda: st.moments([[1], [2, 3]], 2),
    "none": lambda: st.mean([]),
}


@pytest.mark.parametrize("name", WRONG)
def test_values_that_are_no_numbers_are_refused(name):
    with pytest.raises(ValueError, match="must be finite numbers, not all of them zero: give a list"):
        WRONG[name]()


@pytest.mark.parametrize("order", [0, 9, 1.5, "2", True])
def test_orders_that_are_no_powers_are_refused(order):
    with pytest.raises(ValueError, match=r"The number of moments is .* 1 to 8"):
        st.moments(VALUES, order)


@pytest.mark.parametrize("make", [st.published.duchi, st.published.piecewise, st.published.hybrid])
@pytest.mark.parametrize("values", [[1.0, 1.0], [[1.0, 2.0]], ["a", "b"], [1.0, math.inf]])
def test_mechanisms_refuse_what_is_no_number(make, values):
    with pytest.raises(ValueError, match="the values"):
        make(values, 1.0)


LAWS = {
    "reach": lambda: Piecewise(1.0),
    "ends": lambda: TwoEnds(math.inf),
    "share": lambda: Hybrid(Piecewise(2.0), TwoEnds(2.0), 1.5),
    "outside": lambda: NumberReport(np.array([0.0, 2.0]), TwoEnds(2.0)),
    "equal": lambda: NumberReport(np.zeros(3), TwoEnds(2.0)),
    "reports": lambda: st.published.piecewise([0, 1], 1.0).collect(np.zeros(3)),
    "not finite": lambda: st.published.piecewise([0, 1], 1.0).collect(np.full((3, 1), math.nan)),
    "matrix": lambda: st.published.piecewise([0, 1], 1.0).dense(),
}


@pytest.mark.parametrize("name", LAWS)
def test_laws_are_refused_outside_their_range(name):
    with pytest.raises(
        ValueError, match=r"give|no client sends|too many for a matrix|rows of one real number"
    ):
        LAWS[name]()


def test_the_command_line_takes_the_numbers_of_the_bins(capsys):
    plain = run_json(capsys, "optimise", "mean", "--domain", "16", "--epsilon", "1")
    assert plain["average_variance"] <= 0.9780 * 15**2
    assert plain["gap"] <= 5e-3
    binned = run_json(capsys, "optimise", "mean", "--edges", "0:80:20", "--epsilon", "1")
    expected = st.optimise(st.mean([10.0, 30.0, 50.0, 70.0]), 1.0).objective
    assert binned["objective"] == pytest.approx(expected, rel=1e-9)
    assert run_json(capsys, "bound", "moments", "--domain", "8", "--epsilon", "1")["best"] > 0
    several = ["bound", "mean", "--domain", "a=3,b=2", "--epsilon", "1"]
    assert_refused(capsys, several, "name the one that is a number")


def test_the_catalogue_takes_the_numbers_of_the_values():
    assert st.load("moments", domain=8, order=3).queries == 3
    assert st.load("mean", domain=3).matrix().tolist() == [[0, 1, 2]]
    assert st.load("mean", domain=3, numbers=[1, 5, 7]).matrix().tolist() == [[1, 5, 7]]
    with pytest.raises(ValueError, match="prefix was given numbers"):
        st.load("prefix", domain=3, numbers=[1, 2, 3])
