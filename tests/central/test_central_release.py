"""Noise of the central model: what is drawn, what it costs, what is refused."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2, norm

from stratagem import central
from stratagem.central.measurement import _sampler
from stratagem.counts.sampling import pseudo_random
from stratagem.math.privacy import gaussian_delta


@pytest.mark.parametrize("rate", [1e-4, 0.1, 1.0, 3.0])
def test_the_variance_of_geometric_noise(rate):
    z = np.arange(-int(60 / rate), int(60 / rate) + 1)
    alpha = math.exp(-rate)
    chances = (1 - alpha) / (1 + alpha) * alpha ** np.abs(z)
    found = central.GeometricMeasurement(np.eye(1, dtype=int), np.array([rate]), "add-remove").variances[0]
    assert found == pytest.approx((z**2 * chances).sum(), rel=1e-9)
    assert found == pytest.approx(2 * alpha / (1 - alpha) ** 2, rel=1e-9)
    assert found < 2 / rate**2


def p_value(noise, rate):
    """Pearson's test against two-sided geometric noise, tails of less than ten expected draws put together."""
    alpha, z = math.exp(-rate), np.arange(-200, 201)
    expected = len(noise) * (1 - alpha) / (1 + alpha) * alpha ** np.abs(z)
    inside = np.abs(z) <= np.abs(z[expected >= 10]).max()
    counts = np.array([(noise == value).sum() for value in z[inside]])
    counts, expected = np.append(counts, len(noise) - counts.sum()), expected[inside]
    expected = np.append(expected, len(noise) - expected.sum())
    return chi2.sf((np.square(counts - expected) / expected).sum(), len(counts) - 1)


def test_releases_follow_the_stated_noise(rng):
    """Pearson's test at level 1e-4 on one seeded run; noise of a rate 5 % higher must fail it."""
    K = np.eye(2000, dtype=int)
    measurement = central.measure(K, 0.5, "add-remove")
    x = np.arange(2000)
    source = pseudo_random(rng)
    noise = np.concatenate([measurement.release(x, source) - x for _ in range(20)])
    assert p_value(noise, 0.5) > 1e-4
    assert p_value(noise, 0.525) < 1e-4


def test_noise_beyond_the_first_round_keeps_its_distribution(rng):
    """The same test with a sampler that stops at 2: nearly every draw goes into further rounds."""
    from stratagem.central.measurement import _noise
    from stratagem.counts.sampling import TwoSided

    source, sampler = pseudo_random(rng), TwoSided(Fraction(math.exp(-0.5)), 1, beyond=True)
    noise = np.array([_noise(sampler, source) for _ in range(20000)])
    assert np.abs(noise).max() > 8
    assert p_value(noise, 0.5) > 1e-4
    assert p_value(noise, 0.525) < 1e-4


def test_estimates_of_releases_have_the_stated_variance(rng):
    """The mean of 400 squared errors over its expectation within 5 standard errors: false alarm below 1e-5.

    With the variances of half the budget it must be outside.
    """
    tree = central.Hierarchy(12, 3)
    measurement = central.measure(tree.queries(), 1.0, "replace")
    x, source = rng.integers(0, 50, 12), pseudo_random(rng)
    errors = np.array([measurement.estimate(measurement.release(x, source)) - x for _ in range(400)])
    squares = np.square(errors.sum(axis=1))
    expected = measurement.total_variance(np.ones((12, 12)))
    spread = 5 * squares.std() / 20
    assert abs(squares.mean() - expected) < spread
    assert abs(squares.mean() - 4 * expected) > spread


def test_releases_are_whole_numbers_from_secure_noise():
    released = central.measure(np.eye(3), 1.0, "replace").release([3, 0, 4])
    assert released.dtype == np.int64


@pytest.mark.parametrize("rate", [1e-16, 1e-9, 1e-4, 0.3, 1.0, 7.7, 40.0])
def test_ratios_are_rounded_to_the_safe_side(rate):
    with localcontext() as context:
        context.prec = 60
        exact = Fraction((-Decimal(rate)).exp())
    alpha = _sampler(rate).alpha
    assert exact <= alpha < 1
    assert float((alpha - exact) / (1 - exact)) < 1e-6


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 1.0, 8.0])
def test_the_measured_loss_is_that_of_the_worst_pair(neighbours, epsilon, rng):
    K = rng.integers(-3, 4, size=(6, 9))
    measurement = central.measure(K, epsilon, neighbours, rng.uniform(0.1, 3, 6))
    losses = measurement.rates @ np.abs(measurement.queries)
    if neighbours == "replace":
        pairs = np.abs(measurement.queries[:, :, None] - measurement.queries[:, None])
        losses = np.tensordot(measurement.rates, pairs, 1)
    assert measurement.epsilon == pytest.approx(losses.max(), rel=1e-12)
    assert epsilon * (1 - 1e-12) <= measurement.epsilon <= epsilon


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-3])
def test_gaussian_noise_is_calibrated_exactly(epsilon, delta):
    """The hockey-stick divergence by quadrature; one per cent less noise breaks the promise."""
    noise = central.gaussian_noise(epsilon, delta)
    gap = lambda z: max(0, norm.pdf(z, 1, noise) - math.exp(epsilon) * norm.pdf(z, 0, noise))  # noqa: E731
    start = 0.5 + epsilon * noise**2
    exact = quad(gap, start, start + 12 * noise, epsabs=0, epsrel=1e-10)[0]
    assert exact == pytest.approx(delta, rel=1e-6)
    assert gaussian_delta(epsilon, noise) <= delta < gaussian_delta(epsilon, 0.99 * noise)
    assert noise < math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    measured = central.measure_gaussian(np.eye(4), epsilon, delta, "add-remove")
    assert epsilon * (1 - 1e-6) <= measured.epsilon <= epsilon
    assert (measured.variances == measured.sigma**2).all()


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 5.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-4])
def test_stability_histograms_hide_who_is_alone(neighbours, epsilon, delta):
    """The threshold is the least that holds; without the 1 of the count it would fail by exp(rate)."""
    found = central.stability_histogram(epsilon, delta, neighbours)
    assert found.epsilon <= epsilon
    assert found.delta <= delta
    below = central.StabilityHistogram(found.rate, found.threshold - 1, neighbours)
    assert below.delta == pytest.approx(found.delta * math.exp(found.rate))
    assert below.delta > delta * (1 - 1e-9)


def test_the_published_threshold_leaves_a_quarter_of_delta():
    """1 + 2 log(2/delta)/epsilon with Laplace noise of scale 2/epsilon; whole numbers come close to it."""
    epsilon, delta = 0.01, 1e-6
    threshold = 1 + 2 * math.log(2 / delta) / epsilon
    assert 0.5 * math.exp(-(threshold - 1) * epsilon / 2) == pytest.approx(delta / 4)
    whole = central.StabilityHistogram(epsilon / 2, math.ceil(threshold), "replace")
    assert whole.delta == pytest.approx(delta / 4, rel=0.01)


@pytest.mark.parametrize("count", [1, 5, 9, 10, 11, 30])
def test_how_often_a_cell_is_kept(count):
    found = central.StabilityHistogram(0.4, 10, "add-remove")
    z, alpha = np.arange(-400, 401), math.exp(-0.4)
    chances = (1 - alpha) / (1 + alpha) * alpha ** np.abs(z)
    assert found.kept(count) == pytest.approx(chances[count + z >= 10].sum())


def test_stability_histograms_keep_empty_cells_empty_and_single_people_out(rng):
    """A cell of one person is kept with probability delta = 1e-3: more than 30 of 10^4 have chance below 1e-7.

    A threshold lower by 4 must exceed that.
    """
    found = central.stability_histogram(1.0, 1e-3, "add-remove")
    loose = central.StabilityHistogram(found.rate, found.threshold - 4, "add-remove")
    x = np.repeat([0, 1, 1000], [1000, 10000, 10])
    released, careless = (one.release(x, pseudo_random(rng)) for one in (found, loose))
    assert (released[:1000] == 0).all()
    assert (released[released > 0] >= found.threshold).all()
    assert (released[-10:] > 900).all()
    assert np.count_nonzero(released[1000:-10]) <= 30 < np.count_nonzero(careless[1000:-10])


def test_nobody_gives_nothing():
    assert not central.stability_histogram(1.0, 1e-6, "replace").release(np.zeros(5)).any()


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: central.stability_histogram(1.0, 0.0, "replace"), "delta"),
        (lambda: central.stability_histogram(1.0, math.nan, "replace"), "delta"),
        (lambda: central.stability_histogram(0.0, 1e-6, "replace"), "epsilon"),
        (lambda: central.stability_histogram(1.0, 1e-6, "swap"), "add-remove"),  # type: ignore
        (lambda: central.gaussian_noise(1.0, 1.0), "delta"),
        (lambda: central.measure_gaussian(np.ones((1, 3)), 1.0, 1e-6, "replace"), "neighbours apart"),
        (lambda: central.measure(np.eye(2), 1.0, "replace").release([1, -1]), "nonnegative"),
        (lambda: central.measure(np.eye(2), 1.0, "replace").release([1, 0.5]), "whole numbers"),
        (lambda: central.measure(np.eye(2), 1.0, "replace").release([1, 2, 3]), "2 nonnegative"),
        (lambda: central.measure([[2**40, 0]], 1.0, "replace").release([2**30, 0]), "62 bits"),
    ],
)
def test_wrong_input_is_refused(call, word):
    with pytest.raises(ValueError, match=word) as caught:
        call()
    assert "\n" not in str(caught.value)
