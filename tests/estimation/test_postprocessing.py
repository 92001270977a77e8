"""Post-processing: exact where it is an optimisation, biased as labelled, and worth its bias on real data."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize, nnls
from test_estimation import sparse_parities
from test_simulation import delays

import stratagem as st
from evidences import draw
from stratagem.estimation.postprocessing import CLOSE, METHODS
from stratagem.estimation.working_set import (
    GAP,
    duality_gap,
    likelihood_slope,
    minimise_quadratic,
    most_likely,
    nearest_on_simplex,
)
from stratagem.estimators import estimator
from stratagem.estimators.dense import quadratic_forms
from tables import WORKLOADS

EVERY = tuple(METHODS)
BIASED = tuple(name for name, method in METHODS.items() if not method.unbiased)
HOLDS_ALL = ("norm-sub", "simplex", "wnnls", "maximum-entropy", "ripple", "ibu", "shrinkage")
"""Methods whose data vector holds exactly N users."""
SPARSE = np.array([600, 300, 90, 10, 0, 0, 0, 0])
FALSE_ALARM = 5.0
"""Standard errors that a mean over collections may be off: once in 1.7 million for a normal."""


@pytest.mark.parametrize("n", [1, 2, 5, 40])
@pytest.mark.parametrize("total", [1.0, 300.0])
def test_the_nearest_point_of_the_simplex_fulfils_its_conditions(n, total, rng):
    """z = (x + delta)_+ of the right sum is the projection (KKT), and no other point is nearer."""
    for scale in (0.01, 1.0, 1e4):
        x = scale * rng.standard_normal(n)
        z = nearest_on_simplex(x, total)
        assert z.sum() == pytest.approx(total)
        assert (z >= 0).all()
        deltas = (z - x)[z > 0]
        assert np.ptp(deltas) <= 1e-12 * (scale + total)
        assert (x[z == 0] + deltas[0] <= 1e-12 * (scale + total)).all()
        others = total * rng.dirichlet(np.ones(n), 50)
        assert (np.linalg.norm(others - x, axis=1) >= np.linalg.norm(z - x) - 1e-9).all()


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("n", [4, 16])
def test_the_quadratic_minimum_is_that_of_an_active_set_solver(name, n, rng):
    """scipy's NNLS with the sum as a heavy row; Gram matrices of every rank."""
    W = WORKLOADS[name](n).matrix() if n > 4 else WORKLOADS["prefix"](n).matrix()
    V = W.T @ W
    for scale in (0.01, 0.3, 30.0):
        centre = rng.dirichlet(np.ones(n)) + scale * rng.standard_normal(n)
        z = minimise_quadratic(V, centre, np.zeros(n), 1e-11 * np.trace(V) * (1 + scale) ** 2)
        heavy = 1e5 * np.sqrt(np.trace(V)) * (1 + scale)
        reference, _ = nnls(np.vstack([W, np.full(n, heavy)]), np.append(W @ centre, heavy))
        assert z.sum() == pytest.approx(1)
        assert (z >= 0).all()
        found, expected = np.linalg.norm(W @ (z - centre)), np.linalg.norm(W @ (reference - centre))
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-6 * np.sqrt(np.trace(V)))


def test_a_slope_moves_the_minimum_and_the_gap_bounds_every_point(rng):
    for n, rank in product((3, 30), (1, 2, 30)):
        B = rng.standard_normal((n, min(rank, n)))
        H, slope, centre = B @ B.T, rng.standard_normal(n), rng.standard_normal(n)

        def value(z, H=H, slope=slope, centre=centre):
            return slope @ (z - centre) + 0.5 * (z - centre) @ H @ (z - centre)

        z = minimise_quadratic(H, centre, slope, 1e-9)
        assert duality_gap(slope + H @ (z - centre), z) <= 1e-9
        for other in (*rng.dirichlet(np.full(n, 0.3), 200), *np.eye(n)):
            gap = duality_gap(slope + H @ (other - centre), other)
            assert value(other) - gap - 1e-9 <= value(z) <= value(other) + 1e-9


STRATEGIES = {
    "randomised response": st.published.randomised_response(8, 1.0),
    "hierarchical": st.published.hierarchical(8, 0.5),
    "little privacy": st.published.randomised_response(8, 6.0),
    "unseen types": sparse_parities(1.0),
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_most_likely_data_vector_is_where_bayesian_updates_end(name, rng):
    Q = STRATEGIES[name]
    x = rng.multinomial(2000, rng.dirichlet(np.full(Q.domain_size, 0.3)))
    counts = Q.histogram(x, rng).astype(float)
    z = most_likely(Q, counts)
    assert duality_gap(likelihood_slope(Q, counts, z), z) <= GAP
    updated = np.full(Q.domain_size, 1 / Q.domain_size)
    for _ in range(20_000):
        updated = updated * Q.backward(counts / (counts.sum() * Q.forward(updated)))
    assert Q.forward(z) == pytest.approx(Q.forward(updated), abs=1e-5)
    likelihood = counts @ np.log(Q.forward(z))
    assert likelihood >= counts @ np.log(Q.forward(updated)) - GAP
    early = np.full(Q.domain_size, 1 / Q.domain_size)
    assert counts @ np.log(Q.forward(early)) < likelihood - 1, "the control: where the updates begin"


def test_most_likely_survives_counts_of_one_report_and_no_privacy():
    for epsilon in (0.1, 5.0, 50.0):
        Q = st.published.randomised_response(8, epsilon)
        z = most_likely(Q, 3.0 * np.eye(8)[2])
        assert z == pytest.approx(np.eye(8)[2], abs=1e-4)


@pytest.mark.parametrize("name", WORKLOADS)
def test_wnnls_is_as_close_as_it_says(name, rng):
    """An independent solver finds no answers that are nearer by more than the certified distance."""
    W, Q = WORKLOADS[name](8), st.published.randomised_response(8, 0.5)
    found = st.estimate(Q, Q.histogram(SPARSE, rng), W, method="wnnls")
    V, raw, N = W.gram(), found.evidence.data, found.users
    reference = minimize(
        lambda x: 0.5 * (x - raw / N) @ V @ (x - raw / N),
        np.full(8, 1 / 8),
        jac=lambda x: V @ (x - raw / N),
        bounds=[(0, None)] * 8,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1, "jac": lambda x: np.ones(8)},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    apart = found.data - N * reference.x
    total = found.evidence.total_variance(W)
    assert apart @ V @ apart <= (10 * CLOSE) ** 2 * total
    assert found.data.sum() == pytest.approx(N)
    assert (found.data >= 0).all()


@pytest.mark.parametrize("method", EVERY)
def test_processed_data_vectors_are_what_they_promise(method, rng):
    Q = st.published.hierarchical(8, 0.5)
    for column in draw(Q, SPARSE, 20, seed=1).T:
        found = st.estimate(Q, column, st.histogram(8), method=method)
        assert method == "unbiased" or (found.data >= 0).all()
        assert method not in HOLDS_ALL or found.data.sum() == pytest.approx(SPARSE.sum())
        assert method != "norm-cut" or found.data.sum() <= SPARSE.sum() * (1 + 1e-12)
        assert found.answers == pytest.approx(found.data)
        assert found.unbiased_answers == pytest.approx(Q.reconstruct(column), abs=1e-6)


def test_the_closed_forms_by_hand():
    Q = st.published.randomised_response(4, 40.0)
    reconstruction = estimator(Q).evidence(np.array([50, 30, 15, 5]))
    vector = np.array([80.0, 30.0, -4.0, -6.0])
    object.__setattr__(reconstruction, "data", vector)  # what a cached property writes
    W = st.histogram(4)

    def processed(name):
        return METHODS[name].process(reconstruction, W).tolist()

    assert METHODS["unbiased"].process(reconstruction, W) is None, "answers stay as they are"
    assert processed("base-pos") == [80, 30, 0, 0]
    assert processed("norm-cut") == [80, 20, 0, 0]
    assert processed("norm-sub") == processed("simplex") == [75, 25, 0, 0]


def test_base_cut_keeps_two_empty_cells_on_average():
    """60 of 64 cells are empty: 60/64 x 2 of them survive on average, Poisson-like over 100 collections."""
    Q, W = st.published.randomised_response(64, 1.0), st.histogram(64)
    x = np.zeros(64, dtype=int)
    x[:4] = 250_000
    found = [st.estimate(Q, c, W, method="base-cut").data for c in draw(Q, x, 100, seed=2).T]
    kept = np.array([np.count_nonzero(data[4:]) for data in found])
    assert abs(kept.mean() - 60 / 64 * 2) < FALSE_ALARM * np.sqrt(2 / 100)
    assert all((data[:4] > 0).all() for data in found)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("method", EVERY)
def test_a_method_is_biased_exactly_if_it_says_so(method):
    """z-scores of the mean answers of 300 collections; the first cells are large, the last four empty."""
    Q, W = st.published.randomised_response(8, 0.5), st.histogram(8)
    errors = np.array(
        [st.estimate(Q, c, W, method=method).answers - SPARSE for c in draw(Q, SPARSE, 300, seed=3).T]
    )
    z = errors.mean(axis=0) / (errors.std(axis=0, ddof=1) / np.sqrt(300))
    assert METHODS[method].unbiased == (np.abs(z).max() < FALSE_ALARM)
    assert METHODS[method].bias.startswith("unbiased" if METHODS[method].unbiased else "biased")
    if method in ("base-pos", "norm-sub", "wnnls", "ripple", "ibu"):
        assert z[4:].min() > FALSE_ALARM, "empty cells are expected above zero"
    if method in ("norm-sub", "wnnls", "ibu"):
        assert z[0] < -FALSE_ALARM, "at the cost of the largest"


@pytest.mark.parametrize("seed", range(5))
def test_projections_never_lead_away_from_the_truth(seed):
    """A projection onto a convex set that holds the truth: sure for every collection, not on average."""
    Q, W, rng = st.published.hierarchical(16, 0.3), st.all_range(16), np.random.default_rng(seed)
    x = rng.multinomial(500, rng.dirichlet(np.full(16, 0.2)))
    counts = Q.histogram(x, rng)

    def errors(method):
        found = st.estimate(Q, counts, W)
        data = METHODS[method].process(found.evidence, W)
        data = found.data if data is None else data
        return np.linalg.norm(W.answer(data - x)), np.linalg.norm(data - x)

    answers, cells = errors("unbiased")
    assert errors("wnnls")[0] <= answers * (1 + CLOSE)
    assert errors("norm-sub")[1] <= cells
    assert errors("base-pos")[1] <= cells
    assert errors("base-pos")[0] > answers, "the control: cell by cell is no projection of the answers"


@pytest.mark.parametrize("name", WORKLOADS)
def test_wnnls_cuts_the_error_on_real_data(name):
    """1000 of 327,789 departure delays, epsilon 1, as in section 6.6 of the VLDB paper: at least by half."""
    W, Q = WORKLOADS[name](64), st.published.hadamard_response(64, 1.0, 8)
    shares = delays() / delays().sum()
    errors = np.zeros((10, 2))
    for r in range(10):
        rng = np.random.default_rng([4, r])
        x = rng.multinomial(1000, shares)
        counts = Q.histogram(x, rng)
        for k, method in enumerate(("unbiased", "wnnls")):
            apart = st.estimate(Q, counts, W, method=method).data - x
            errors[r, k] = apart @ W.gram() @ apart
    raw, processed = errors.mean(axis=0)
    assert processed < raw / 2


def test_unseen_types_leave_only_methods_that_answer_queries(rng):
    Q, W = sparse_parities(1.0), st.marginals("2^4", 2)
    counts = Q.histogram(rng.multinomial(400, rng.dirichlet(np.full(16, 0.2))), rng)
    for method in ("base-pos", "base-cut", "norm-cut", "norm-sub", "simplex", "ripple"):
        with pytest.raises(ValueError, match="use wnnls, which is recommended"):
            st.estimate(Q, counts, W, method=method)
    raw = st.estimate(Q, counts, W)
    for method in ("wnnls", "maximum-entropy", "ibu"):
        found = st.estimate(Q, counts, W, method=method)
        assert (found.answers >= 0).all()
        assert found.answers[:4].sum() == pytest.approx(400)
        assert np.linalg.norm(found.answers - raw.answers) < 5 * np.sqrt(
            raw.standard_errors @ raw.standard_errors
        )


def test_quadratic_forms_are_those_of_the_matrix(rng):
    W, B = st.all_range(9), rng.standard_normal((9, 9))
    expected = np.einsum("iu,uv,iv->i", W.matrix(), B + B.T, W.matrix())
    assert quadratic_forms(W, B + B.T) == pytest.approx(expected)
