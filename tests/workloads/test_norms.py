"""Nuclear norms without an eigendecomposition, against dense ones, and the bounds on large domains."""

import math

import numpy as np
import pytest

import stratagem as st
from stratagem.workloads.structure import Norms, cosecants, range_total, short_range_norms
from tables import EPSILONS


def dense(workload) -> Norms:
    """The same by eigendecompositions."""
    n, V = workload.domain_size, workload.gram()
    roots = [
        np.sqrt(np.maximum(np.linalg.eigvalsh(A), 0) / n).sum()
        for A in (V, V - V.mean(axis=0) - V.mean(axis=1)[:, None] + V.mean())
    ]
    return Norms(float(V.mean()), *map(float, roots))


def known(norms: Norms) -> list[float]:
    return [norms.total, norms.whole, norms.centred]


CLOSED = {f"{name.__name__} {n}": name(n) for name in (st.prefix, st.all_range) for n in range(1, 65)}
CLOSED |= {f"histogram {n}": st.histogram(n) for n in (1, 2, 3, 64)}
CLOSED |= {
    "marginals": st.marginals("a=3,b=2,c=2,d=3", 2),
    "parity": st.parity("2^5", 3),
    "total": st.total("2^3"),
    "weighted prefix": st.weighted(st.prefix(20), -3.0),
    "kron": st.kron([st.histogram({"x": 3}), st.total({"y": 4})]),
    "stack": st.stack([st.histogram(12), st.total(12)]),
}


@pytest.mark.parametrize("workload", CLOSED.values(), ids=CLOSED)
def test_closed_forms_are_those_of_the_gram_matrix(workload):
    assert known(workload.structure.norms) == pytest.approx(known(dense(workload)), rel=1e-8, abs=1e-6)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("make", [st.prefix, st.all_range, st.histogram], ids=lambda make: make.__name__)
def test_bounds_from_closed_forms_are_the_dense_ones(make, epsilon):
    for n in (2, 3, 8, 33, 64):
        workload = make(n)
        ours = st.lower_bounds(workload, epsilon).known()
        theirs = st.lower_bounds(st.explicit(workload.matrix()), epsilon).known()
        for name in theirs.keys() - {"linear"}:  # one query is not looked for where there is a closed form
            assert ours[name] == pytest.approx(theirs[name], rel=1e-6), name


@pytest.mark.exhaustive
def test_short_ranges_are_bounded_from_below_and_closely():
    for n in range(2, 65):
        for width in range(1, n):
            below, exact = short_range_norms(n, width), dense(st.all_range(n, width=width))
            assert below.total == pytest.approx(exact.total)
            assert 0.98 * exact.whole <= below.whole <= exact.whole * (1 + 1e-9)
            assert 0.87 * exact.centred <= below.centred <= exact.centred * (1 + 1e-9)


@pytest.mark.parametrize(("width", "loss"), [(1, 1e-6), (7, 1e-3), (60, 4e-3), (300, 0.03), (599, 0.04)])
def test_short_ranges_lose_no_more_than_it_says(width, loss):
    below, exact = short_range_norms(600, width), dense(st.all_range(600, width=width))
    assert exact.centred * (1 - loss) <= below.centred <= exact.centred * (1 + 1e-9)


def test_short_ranges_of_very_many_values_are_bounded_by_pieces(monkeypatch):
    monkeypatch.setattr("stratagem.workloads.structure.LONGEST", 100)
    for width in (1, 5, 40, 150, 349):
        below, exact = short_range_norms(350, width), dense(st.all_range(350, width=width))
        assert 0.6 * exact.whole <= below.whole <= exact.whole * (1 + 1e-9)
        assert 0.5 * exact.centred <= below.centred <= exact.centred * (1 + 1e-9)


@pytest.mark.parametrize(("count", "period", "shift"), [(200_000, 400_001, 0.5), (99_999, 200_000, 0.0)])
def test_sums_of_cosecants_are_from_below(count, period, shift):
    terms = 1 / np.sin(math.pi * (np.arange(1, count + 1) - shift) / period)
    exact = math.fsum(terms)
    assert exact * (1 - 1e-11) <= cosecants(count, period, shift) <= exact * (1 + 1e-14)


def test_the_total_counts_all_users_of_all_ranges():
    for n, width in ((1, 1), (7, 3), (20, 20)):
        answers = st.all_range(n, width=width).answer(np.ones(n))
        assert range_total(n, width) == pytest.approx(answers @ answers / n**2)


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 8.0])
def test_bounds_of_large_domains_follow_those_of_small_ones(epsilon):
    """L/n of prefix and all-range grows with n, per query less and less."""
    for make, power in ((st.prefix, 1), (st.all_range, 2)):
        sizes = [4096, 65_536, 2**30, 2**53]
        bounds = [make(n).structure.norms for n in sizes]
        values = [one.centred / n ** (power / 2) for one, n in zip(bounds, sizes, strict=True)]
        assert values == sorted(values)
        growth = np.diff(values) / np.diff(np.log(sizes))
        assert growth == pytest.approx(growth[0], rel=0.01)
        best = st.lower_bounds(make(2**30), epsilon)
        assert best["integer"].value == pytest.approx(best["closed"].value, rel=1e-6)
        assert math.isfinite(best.best)


def test_beyond_what_doubles_count_bounds_are_per_user_type():
    small, large = (st.lower_bounds(st.marginals(f"2^{d}", 2), 1.0) for d in (53, 54))
    assert "integer" in small
    assert "integer" not in large
    assert large.best == pytest.approx(small.best / 2**53, rel=0.1)


def test_bounds_beyond_the_largest_float_are_refused():
    for workload, epsilon in ((st.histogram("2^1100"), 1.0), (st.histogram("2^1010"), 1e-6)):
        with pytest.raises(ValueError, match="largest float64") as caught:
            st.lower_bounds(workload, epsilon)
        assert "\n" not in str(caught.value)


def test_a_workload_without_closed_form_still_needs_its_gram_matrix():
    assert st.stack([st.prefix(8), st.histogram(8)]).structure.norms is None
    assert st.all_range(64, width=8).structure.norms is None
    with pytest.raises(ValueError, match="Gram matrix"):
        st.lower_bounds(st.stack([st.prefix(2**20), st.histogram(2**20)]), 1.0)
