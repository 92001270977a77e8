"""The bounded-simplex projection, by its optimality conditions and against independent solvers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from stratagem.solvers.gradient.descent import feasible_thresholds, force, project_with_multiplier

METHODS = ("bracketed", "sorted")
CASES = [
    # m, n, E, scale of the target
    (1, 3, 2.0, 1.0),
    (4, 4, np.exp(12), 1.0),
    (64, 8, np.e, 1.0),
    (256, 16, np.e, 10.0),
    (256, 16, np.exp(8), 1.0),
    (1000, 5, 1.1, 1e-3),
    (500, 5, 1.0 + 1e-6, 1e-6),
]


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def project(*given):
    return project_with_multiplier(*given)[0]


def instance(rng, m, n, E, scale):
    z = rng.random(m) ** 3 + 1e-6
    z = z / z.sum() * (1 / E + rng.random() * (1 - 1 / E))
    R = rng.standard_normal((m, n)) * scale * rng.random((m, 1)) ** 4
    return jnp.asarray(R), feasible_thresholds(jnp.asarray(z), jnp.asarray(E)), jnp.asarray(E)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("m", "n", "E", "scale"), CASES)
def test_the_projection_is_feasible_and_satisfies_its_kkt_conditions(method, m, n, E, scale, rng):
    for _ in range(5):
        R, z, factor = instance(rng, m, n, E, scale)
        Q, lower = np.asarray(project(R, z, factor, method)), np.asarray(z)[:, None]
        assert np.abs(Q.sum(axis=0) - 1).max() <= 1e-12
        assert (Q >= lower).all()
        assert (Q <= float(factor) * lower).all()
        # Q - R = lambda on free entries, at least lambda on lower ones, at most lambda on upper ones
        residual, slack = Q - np.asarray(R), 1e-12 * max(scale, 1)
        free = (Q > lower) & (Q < E * lower)
        at_most = np.where(Q > lower, residual, -np.inf).max(axis=0)
        at_least = np.where(Q < E * lower, residual, np.inf).min(axis=0)
        assert (at_most <= at_least + slack).all()
        assert all(np.ptp(residual[free[:, u], u]) <= slack for u in range(n) if free[:, u].any())


@pytest.mark.sampled(10)
@pytest.mark.parametrize(("m", "n", "E", "scale"), CASES)
def test_both_methods_agree_to_1e_12(m, n, E, scale, rng):
    R, z, factor = instance(rng, m, n, E, scale)
    first, second = (project(R, z, factor, method) for method in METHODS)
    assert float(jnp.abs(first - second).max()) <= 1e-12


@pytest.mark.sampled(2)
@pytest.mark.parametrize("method", METHODS)
def test_it_is_the_nearest_point_that_an_independent_solver_finds(method, rng):
    R, z, E = instance(rng, 7, 3, 2.5, 0.5)
    Q = np.asarray(project(R, z, E, method))
    for u in range(3):
        r = np.asarray(R)[:, u]
        found = minimize(
            lambda q, r=r: 0.5 * np.square(q - r).sum(),
            np.full(7, 1 / 7),
            jac=lambda q, r=r: q - r,
            bounds=[(low, float(E) * low) for low in np.asarray(z)],
            constraints={"type": "eq", "fun": lambda q: q.sum() - 1, "jac": lambda q: np.ones(7)},
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 500},
        )
        assert Q[:, u] == pytest.approx(found.x, abs=1e-6)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("method", METHODS)
def test_projecting_twice_changes_nothing(method, rng):
    R, z, E = instance(rng, 40, 6, np.e, 1.0)
    Q = project(R, z, E, method)
    assert np.allclose(project(Q, z, E, method), Q, atol=1e-15)


def test_the_force_is_the_derivative_of_the_squared_distance(rng):
    R, z, E = instance(rng, 12, 5, np.e, 0.5)

    Q, multiplier = project_with_multiplier(R, z, E)

    def distance(z):
        """The Lagrangian of the squared distance, which changes with z as its minimum does."""
        clipped = jnp.clip(R + multiplier, z[:, None], E * z[:, None])
        return 0.5 * jnp.square(clipped - R).sum() - multiplier @ (clipped.sum(axis=0) - 1)

    along_z = jax.grad(distance)(z)
    clipped_only = np.asarray(((Q > z[:, None]) & (Q < E * z[:, None])).any(axis=0))
    assert clipped_only.all()
    assert np.allclose(along_z, force(R, multiplier, z, E), rtol=1e-8, atol=1e-10)


def test_thresholds_are_scaled_into_the_feasible_range():
    E = jnp.asarray(np.e)
    for total in (0.1, 0.5, 3.0):
        z = feasible_thresholds(jnp.full(10, total / 10), E)
        assert float(z.sum()) <= 1 <= float(E * z.sum())
