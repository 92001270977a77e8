"""The matrix mechanism that every user runs alone: Laplace, spherical and normal noise."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import stratagem as st
from protocols import deviation
from stratagem.estimators import estimator, evaluate
from stratagem.math.linalg import centre
from stratagem.math.privacy import gaussian_delta, gaussian_epsilon, gaussian_noise
from stratagem.published import (
    local_gaussian,
    local_laplace,
    local_spherical,
    optimised_unary_encoding,
    summed_histogram_encoding,
)
from stratagem.published.hierarchical import level_widths
from stratagem.published.query_strategy import least_l1
from stratagem.strategies import AdditiveNoise, Laplace, Normal, Spherical

PAIRS = np.array([[1.0, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 2]])
"""Queries on 5 types that confuse 0 with 1 and 2 with 3."""
NOISES = {
    "SHE": summed_histogram_encoding(7, 1.0),
    "laplace": local_laplace(np.eye(7), 1.0),
    "spherical": local_spherical(np.eye(7), 1.0),
    "gaussian": local_gaussian(np.eye(7), 1.0, 1e-5),
    "pairs": local_spherical(PAIRS, 2.0),
    "free pairs": AdditiveNoise(PAIRS, Laplace(1.5), total_known=False),
}


@pytest.mark.parametrize("name", NOISES)
def test_estimates_have_the_stated_covariance(name, rng):
    """False alarm 4e-6; the controls, a type that gains 400 users and more noise, must fail."""
    protocol = NOISES[name]
    n = protocol.domain_size
    x = rng.integers(0, 300, n)
    values = np.repeat(np.arange(n), x)
    assert deviation(protocol, lambda: protocol.histogram(x, rng), x, 150) == (True, True)
    reports = lambda: protocol.collect(protocol.randomise(values, rng))  # noqa: E731
    assert deviation(protocol, reports, x, 100) == (True, True)
    wrong = np.where(np.arange(n) == n - 1, x + 400, x)
    assert not deviation(protocol, lambda: protocol.histogram(wrong, rng), x, 150)[0]
    louder = AdditiveNoise(protocol.queries, Laplace(2 * protocol.variance**0.5), protocol.total_known)
    assert not deviation(protocol, lambda: louder.histogram(x, rng), x, 150)[1]


@pytest.mark.parametrize("name", NOISES)
def test_second_moments_are_those_of_the_score(name, rng):
    """E[s | u] = e_u where it is seen, and the noise adds v R R^T: spread at a unit vector, by its trace with B."""
    protocol = NOISES[name]
    n = protocol.domain_size
    A = rng.normal(size=(n, n))
    B = A + A.T
    single = [np.trace(protocol.spread(x) @ B) for x in np.eye(n)]
    assert protocol.second_moments(B) == pytest.approx(np.array(single))
    k = len(protocol.queries)
    noiseless = np.column_stack([protocol.reconstruct(np.append(1, a)) for a in protocol.queries.T])
    seen = np.eye(n) - protocol.null_space @ protocol.null_space.T
    assert noiseless == pytest.approx(seen, abs=1e-9)
    R = np.column_stack([protocol.reconstruct(np.append(0, e)) for e in np.eye(k)])
    x = np.arange(1.0, n + 1)
    expected = seen @ np.diag(x) @ seen + x.sum() * protocol.variance * R @ R.T
    assert protocol.spread(x) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 20.0, 300.0])
def test_measured_epsilon_keeps_the_budget(epsilon, rng):
    A = rng.normal(size=(4, 9))
    for make in (local_laplace, local_spherical, lambda Q, e: local_gaussian(Q, e, 1e-6)):
        protocol = make(A, epsilon)
        assert protocol.epsilon <= epsilon
        assert protocol.epsilon == pytest.approx(epsilon, rel=1e-5)
    assert summed_histogram_encoding(9, epsilon).epsilon <= epsilon


def test_privacy_is_lost_between_the_columns_that_are_farthest_apart(rng):
    A = rng.normal(size=(3, 6))
    differences = (A[:, :, None] - A[:, None, :]).reshape(3, -1)
    laplace, spherical = (AdditiveNoise(A, noise(2.0)) for noise in (Laplace, Spherical))
    assert laplace.epsilon == pytest.approx(np.abs(differences).sum(axis=0).max() / 2)
    assert spherical.epsilon == pytest.approx(np.linalg.norm(differences, axis=0).max() / 2)


@pytest.mark.parametrize(("epsilon", "distance"), [(0.0, 0.3), (1.0, 0.2), (1.0, 1.0), (4.0, 2.0)])
def test_delta_is_the_integral_of_what_exceeds_the_ratio(epsilon, distance):
    def excess(z):
        return max(0.0, norm.pdf(z - distance) - np.exp(epsilon) * norm.pdf(z))

    start = distance / 2 + epsilon / distance
    expected = quad(excess, start, start + 12, epsabs=0)[0]
    assert gaussian_delta(epsilon, 1 / distance) == pytest.approx(expected, rel=1e-7)
    assert gaussian_epsilon(1 / distance, expected) == pytest.approx(epsilon, abs=1e-8)


def test_sigma_is_below_the_textbook():
    """Dwork and Roth's sqrt(2 log(1.25/delta))/epsilon holds below epsilon = 1 and is never the least."""
    for delta in (1e-3, 1e-9, 1e-15):
        sigma = gaussian_noise(0.9, delta)
        assert sigma < np.sqrt(2 * np.log(1.25 / delta)) / 0.9
        assert gaussian_delta(0.9, sigma) <= delta


def test_summed_histogram_encoding_has_its_published_variance():
    accuracy = evaluate(st.histogram(16), summed_histogram_encoding(16, 0.7))
    assert accuracy.per_type == pytest.approx(np.full(16, 16 * 8 / 0.7**2))


def test_spherical_noise_lives_where_columns_differ():
    """PAIRS differ along 2 dimensions, so that 2 reals are sent, of variance (2 + 1) Delta^2/epsilon^2."""
    protocol = local_spherical(PAIRS, 2.0)
    assert len(protocol.queries) == 2
    assert protocol.variance == pytest.approx(3 * 5 / 4)  # columns (1, 0, 0) and (0, 0, 2)
    assert protocol.null_space.shape == (5, 2)


def test_optimised_queries_are_better_than_known_ones():
    """Prefix on 64 types: the descent beats identity and trees, as in the central model."""
    W = st.prefix(64)
    best = estimator(local_laplace(least_l1(centre(W.gram()), steps=60).matrix, 1.0)).objective(W)
    trees = [np.arange(64) // width for width in level_widths(64, 4)]
    tree = np.vstack([g == np.arange(g[-1] + 1)[:, None] for g in trees])
    assert best < estimator(local_laplace(tree, 1.0)).objective(W)
    assert best < estimator(local_laplace(np.eye(64), 1.0)).objective(W) / 1.3
    assert best < estimator(optimised_unary_encoding(64, 1.0)).objective(W)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: local_laplace(np.ones((2, 3)), 1.0), "columns differ"),
        (lambda: local_laplace(np.ones(3), 1.0), "columns differ"),
        (lambda: local_spherical(np.eye(3) * np.nan, 1.0), "columns differ"),
        (lambda: local_laplace(np.eye(3), 0.0), "epsilon"),
        (lambda: local_gaussian(np.eye(3), 1.0, 0.0), "delta is 0.0"),
        (lambda: AdditiveNoise(np.eye(3), Laplace(-1.0)), "positive number"),
        (lambda: Normal(1.0, 2.0), "delta is 2.0"),
        (lambda: AdditiveNoise(np.zeros((0, 3)), Laplace(1.0)), "shape \\(0, 3\\)"),
        (lambda: NOISES["SHE"].collect(np.zeros((2, 3))), "rows of 7 real"),
        (lambda: NOISES["SHE"].collect(np.full((2, 7), np.inf)), "not finite"),
        (lambda: NOISES["SHE"].dense(), "too many for a matrix"),
        (lambda: NOISES["SHE"].randomise(np.array([7]), np.random.default_rng()), "0 to 6"),
    ],
)
def test_refusals(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make()
