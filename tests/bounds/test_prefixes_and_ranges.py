"""The nonnegative bound of prefixes and ranges of many values: against dense matrices, optima and strategies."""

from dataclasses import replace

import numpy as np
import pytest

import stratagem as st
from stratagem.bounds import exact, lower_bounds, prefixes_and_ranges, tighten
from stratagem.bounds.prefixes_and_ranges import Arrays, PathProof, RangeSearch
from stratagem.bounds.proof import Proof
from stratagem.math.linalg import centred_factor
from stratagem.workloads.centring import centred, total_term
from stratagem.workloads.ranges import line

MAKERS = [st.prefix, st.all_range]


@pytest.mark.parametrize(
    "workload", [make(n) for make in MAKERS for n in (2, 3, 16, 33)] + [st.weighted(st.all_range(9), -3.0)]
)
def test_the_gram_matrix_in_cosines(workload):
    n, found, j = workload.domain_size, line(workload), np.arange(1, workload.domain_size)
    waves = np.sqrt(2 / n) * np.cos(np.pi / n * np.outer(np.arange(n) + 0.5, j))
    ramp = found.ramp(j)
    seen = waves @ (np.diag(found.roots(j) ** 2) - np.outer(ramp, ramp)) @ waves.T
    V = centred(workload).gram
    assert seen == pytest.approx(V, abs=1e-9 * np.trace(V))
    assert found.total == pytest.approx(total_term(workload))


@pytest.mark.parametrize("workload", [st.histogram(9), st.all_range(9, 4), st.prefix(1), st.total(4)])
def test_others_have_no_such_structure(workload):
    assert line(workload) is None


def arbitrary(n, seed, size):
    """Arrays that nobody optimised."""
    rng, P = np.random.default_rng(seed), 24
    cells = rng.random((P, P)) * (rng.random((P, P)) < 0.2)
    far = rng.random(len(prefixes_and_ranges.nodes(n))) * size
    prices = np.array([rng.uniform(0, 5), rng.uniform(0, 2)])
    return Arrays(prices, far, size * (cells + cells.T + cells[::-1, ::-1] + cells.T[::-1, ::-1]))


def written_out(n, arrays):
    """N (n x n), entry by entry from the docstring."""
    P, m = 24, 32
    x, y = (np.arange(n) + 0.5) / n, (np.arange(P) + 0.5) / P
    K = 1 + 2 * sum((1 - j / m) * np.outer(np.cos(np.pi * j * x), np.cos(np.pi * j * y)) for j in range(1, m))
    u = np.arange(n)
    nodes, values = np.append(0, prefixes_and_ranges.nodes(n)), np.append(0, arrays.far)
    near, over = np.abs(u[:, None] - u), u[:, None] + u + 1
    w = np.interp(near, nodes, values) + np.interp(np.minimum(over, 2 * n - over), nodes, values)
    return (w + K @ arrays.cells @ K.T / P**2) / n


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 8.0])
@pytest.mark.parametrize("size", [0.01, 0.3, 3.0])
@pytest.mark.parametrize("make", MAKERS)
def test_the_same_proof_with_dense_matrices(monkeypatch, make, size, epsilon):
    """Sorting and cosines say what n x n matrices say; to the ramp of ranges they lose one root at the most."""
    monkeypatch.setattr("stratagem.bounds.proof.listed_size", lambda n: 0)  # no pattern one by one
    n, workload = 80, make(80)
    arrays = arbitrary(n, int(100 * size), size)
    N = written_out(n, arrays)
    ours, nu = PathProof(line(workload), arrays, epsilon), N.sum(axis=1)
    assert N.min() >= 0
    assert ours._sums()[0] == pytest.approx(nu)
    c, f = np.expm1(epsilon), 1 / (1 + np.exp(epsilon))
    low, error, beyond = ours._spectrum()
    lift = max(0.0, error - np.linalg.eigvalsh(low)[0], -beyond.min())
    alpha = arrays.prices[0] + lift * c * (1 - 2 * f) / (1 + c * f)
    dense = Proof(
        gamma=np.full(n, 1 + lift),
        avoided=N,
        spread=np.zeros(n),
        level=(0.0, 0.0),
        prices=(alpha + arrays.prices[1] * nu) / n,
        factor=centred_factor(centred(workload).gram),
        total=total_term(workload),
        epsilon=epsilon,
    )
    least, most = {st.prefix: (1 - 1e-7, 1 + 1e-9), st.all_range: (0.9, 1 + 1e-9)}[make]
    assert least * dense.value <= ours.value <= most * dense.value


@pytest.fixture(params=[(6,), (3, 6)], ids=["at once", "refined"])
def coarse(monkeypatch, request):
    """The same code with so few cosines that the optimum of its smallest domains is known."""
    monkeypatch.setattr(prefixes_and_ranges, "CELLS", request.param)


@pytest.mark.exhaustive
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("make", MAKERS)
def test_never_above_the_optimum(coarse, make, epsilon):
    workload = make(10)
    optimum, search = exact(workload, epsilon), RangeSearch(line(workload), epsilon)
    begun = search.best.value
    search.run(60)
    assert begun <= search.best.value <= optimum * (1 + 2e-7)
    assert search.best.value >= 0.7 * optimum


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("make", "n", "epsilon", "least"),
    [
        (st.prefix, 64, 4.0, 2800),
        (st.prefix, 1024, 4.0, 1.036e6),
        (st.all_range, 1024, 4.0, 5.83e8),
        (st.prefix, 1 << 16, 4.0, 6.93e9),
        (st.all_range, 1 << 16, 4.0, 3.12e14),
    ],
)
def test_close_to_strategies(make, n, epsilon, least):
    """Dense matrices prove 2,940.8 at n = 64; strategies reach 1.07e6, 5.91e8, 7.33e9 and 3.20e14."""
    search = RangeSearch(line(make(n)), epsilon)
    search.run(300)
    assert least <= search.best.value <= 1.03 * least


@pytest.mark.exhaustive
def test_prices_that_are_too_low_are_made_good():
    search = RangeSearch(line(st.prefix(256)), 4.0)
    search.run(60)
    best = search.best
    for share in (0.98, 0.9, 0.5):
        cheaper = best.arrays._replace(prices=share * best.arrays.prices)
        assert replace(best, arrays=cheaper).value < best.value


def test_negative_entries_are_refused():
    arrays = arbitrary(64, 0, 0.1)
    for wrong in (arrays._replace(far=-arrays.far), arrays._replace(cells=arrays.cells - 1)):
        with pytest.raises(ValueError, match="no negative entry"):
            PathProof(line(st.prefix(64)), wrong, 1.0)
    with pytest.raises(ValueError, match="needs at least 32"):
        PathProof(line(st.prefix(31)), arrays, 1.0)


@pytest.mark.exhaustive
def test_tighten_computes_it_where_there_is_need():
    workload = st.weighted(st.prefix(4096), 2.0)
    quick = lower_bounds(workload, 4.0)
    tight = tighten(quick, workload, 4.0, objective=1.3 * quick.best, seconds=60)
    assert tight.name == "nonnegative"
    assert 1.1 * quick.best < tight.best < 1.3 * quick.best
    assert "nonnegative" not in tighten(quick, workload, 4.0, objective=1.04 * quick.best)


@pytest.mark.exhaustive
def test_a_solution_by_translates_is_held_against_it():
    """Until now no bound but those of a second was computed for them."""
    solution = st.optimise(st.prefix(2048), 4.0)
    assert solution.bounds["nonnegative"].value >= solution.bounds["closed"].value
    assert solution.objective <= 1.3 * solution.lower_bound
