"""Data cubes: never worse than what they may start from, close to the best of all, exact variance."""

from itertools import chain, combinations

import numpy as np
import pytest

import stratagem as st
from central_formulas import direct_error, view_error
from stratagem import central
from stratagem.math.block_design import covering_tables
from stratagem.published.baseline import Setting

ASKED = {
    "pairs": st.marginals("2^6", 2),
    "mixed sizes": st.marginals("a=7,b=2,c=3,d=2", 2),
    "single": st.marginals("a=8,b=4,c=2", 1),
    "all": st.all_marginals("2^5"),
    "parities": st.parity("2^5", 2),
    "ranges": st.kron([st.prefix("a=5"), st.total("b=3"), st.all_range("c=4")]),
    "a constant attribute": st.marginals("a=1,b=3,c=4", 1),
}


def setting(workload):
    return Setting(workload.domain.sizes, workload.gram())


def total(workload, chosen, epsilon=1.0, neighbours="add-remove", noise="laplace"):
    K = central.tables(workload.domain.sizes, chosen)
    return central.measure(K, epsilon, neighbours, noise=noise).total_variance(workload.gram())


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_cubes_are_never_worse_than_the_tables_asked_for_or_the_histogram(name, neighbours):
    workload = ASKED[name]
    chosen = central.cube_tables(setting(workload))
    found = total(workload, chosen, 0.7, neighbours)
    whole = tuple(range(len(workload.domain.sizes)))
    for other in (setting(workload).margins, (whole,)):
        assert found <= total(workload, other, 0.7, neighbours) * (1 + 1e-9)


@pytest.mark.parametrize(
    "workload",
    [
        st.marginals("a=6,b=5,c=4", 1),
        st.marginals("a=9,b=2,c=2", 2),
        st.all_marginals("2^3"),
        st.stack([st.marginals("2^3", 1), st.marginals("2^3", 2)]),
        st.kron([st.prefix("a=6"), st.total("b=3"), st.histogram("c=2")]),
    ],
    ids=["single", "pairs", "all", "both", "ranges"],
)
def test_among_three_attributes_the_greedy_choice_is_the_best(workload):
    tables = [S for k in (1, 2, 3) for S in combinations(range(3), k)]
    families = chain.from_iterable(combinations(tables, k) for k in range(1, 8))
    best = min(total(workload, family) for family in families)
    assert total(workload, central.cube_tables(setting(workload))) == pytest.approx(best)


@pytest.mark.parametrize(
    ("d", "cube", "flat", "direct"),
    [(6, 960, 960, 4950), (8, 5810.4, 7168, 29008), (9, 11448, 18432, 59616)],
)
def test_pairs_of_binary_attributes(d, cube, flat, direct):
    """In V_u for all tables together; the last two with least squares on the tables themselves."""
    workload = st.marginals(f"2^{d}", 2)
    chosen = central.cube_tables(setting(workload))
    assert total(workload, chosen) / 2 == pytest.approx(cube)
    assert total(workload, [tuple(range(d))]) / 2 == pytest.approx(flat)
    assert total(workload, list(combinations(range(d), 2))) / 2 == pytest.approx(direct)


def test_a_cube_of_nine_tables_for_ten_attributes():
    """The exact total of least squares: noise(s) sum_S tr(P_S V)/(what the tables tell of S)."""
    chosen = central.cube_tables(setting(st.marginals("2^10", 2)))
    told = {
        S: sum(2.0 ** (10 - len(C)) for C in chosen if set(S) <= set(C))
        for k in range(3)
        for S in combinations(range(10), k)
    }
    # a table of a pair holds one function of each set inside it, of squared length 2^8 a unit of its cells
    pairs = {S: sum(set(S) <= set(pair) for pair in combinations(range(10), 2)) for S in told}
    variance = len(chosen) ** 2 * sum(pairs[S] * 2.0**8 / told[S] for S in told)
    assert variance == pytest.approx(23463)
    assert variance < 45 * 2**10


@pytest.mark.parametrize("name", ASKED)
def test_answers_are_unbiased_and_private(name, rng):
    workload = ASKED[name]
    K = central.tables(workload.domain.sizes, central.cube_tables(setting(workload)))
    measurement = central.measure(K, 0.8, "replace")
    W, V = workload.matrix(), workload.gram()
    R = np.column_stack([measurement.estimate(e) for e in np.eye(len(K))])
    assert np.allclose(W @ R @ K, W)
    assert (np.square(W @ R) @ measurement.variances).sum() == pytest.approx(measurement.total_variance(V))
    assert 0.8 * (1 - 1e-12) <= measurement.epsilon <= 0.8


@pytest.mark.parametrize("epsilon", [0.1, 30.0])
def test_comparisons_choose_with_the_noise_of_the_release(epsilon):
    """Geometric noise of a large budget vanishes: then several tables cost more than one still."""
    for name in ("pairs", "mixed sizes"):
        rows = {row.mechanism: row for row in central.compare(ASKED[name], epsilon, "replace").rows}
        for other in ("marginals", "views", "geometric"):
            if other in rows:
                assert rows["data cube"].average_variance <= rows[other].average_variance * (1 + 1e-9)


@pytest.mark.parametrize(
    ("size", "pair"),
    [(5, 0.283), (6, 0.267), (7, 0.269), (8, 0.286), (9, 0.314), (10, 0.356), (11, 0.411), (12, 0.485)],
)
def test_the_published_table_of_view_sizes(size, pair):
    """The error of perfect coverings, w = d (d - 1)/(l (l - 1)), divided by what all sizes share."""
    d = 40
    exact = view_error(d, size, 1) * d * (d - 1) / (size * (size - 1))
    assert np.sqrt(exact) / (d * (d - 1)) == pytest.approx(pair, abs=6e-4)


@pytest.mark.parametrize(("d", "size"), [(7, 3), (6, 6), (6, 2)])
def test_views_that_hold_all_pairs_equally_often(d, size):
    """The Fano plane, the whole domain, and the pairs themselves, where the error is the direct method's."""
    fano = [(0, 1, 2), (0, 3, 4), (0, 5, 6), (1, 3, 5), (1, 4, 6), (2, 3, 6), (2, 4, 5)]
    views = fano if d == 7 else covering_tables(d, list(combinations(range(d), 2)), size)
    found = total(st.marginals(f"2^{d}", 2), views) / (2 * len(list(combinations(range(d), 2))))
    published = view_error(d, size, len(views))
    assert found <= published * (1 + 1e-9)
    if size == d:
        assert found == pytest.approx(published)
    if size == 2:
        assert published == direct_error(d, 2)


@pytest.mark.parametrize("wrong", [(5, 1, 3), (5, 6, 3), (5, 2, 0), (-1, 2, 3)])
def test_views_that_cannot_be_are_refused(wrong):
    with pytest.raises(ValueError, match="whole number from"):
        view_error(*wrong)


def test_the_total_needs_nothing_else():
    assert central.cube_tables(setting(st.total("2^4"))) == ((),)


def test_many_attributes_are_refused():
    with pytest.raises(ValueError, match="13 attributes"):
        central.cube_tables(Setting((1,) * 13, np.eye(1)))
