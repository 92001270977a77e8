"""The eigenvalues of a Gram matrix averaged over translations, against the average written out."""

import numpy as np
import pytest

import stratagem as st

RNG = np.random.default_rng(0)
WORKLOADS = {
    "prefix": st.prefix(9),
    "prefix of one": st.prefix(1),
    "all-range": st.all_range(8),
    "short ranges": st.all_range(9, 4),
    "points": st.all_range(7, 1),
    "histogram": st.histogram(6),
    "histogram of a table": st.histogram("a=3,b=2,c=2"),
    "total": st.total(5),
    "marginals": st.marginals("a=3,b=2,c=2,d=3", 2),
    "marginals of two orders": st.stack([st.marginals("2^4", 1), st.weighted(st.marginals("2^4", 3), 0.5)]),
    "parity": st.parity("2^4", 3),
    "kron": st.kron([st.prefix(3), st.all_range(4, 2), st.histogram(2)]),
    "explicit": st.explicit(RNG.normal(size=(4, 6))),
    "explicit table": st.explicit(RNG.normal(size=(3, 12)), "a=3,b=2,c=2"),
    "prefix of answers": st.prefix(st.labels(*"abcde", other=True, no_answer=True)),
    "short ranges of answers": st.all_range(st.bins("0:7:1", no_answer=True), 3),
    "weighted prefix": st.weighted(st.prefix(5), -3.0),
}


def average(workload):
    """The eigenvalues by moving V about, cell by cell."""
    sizes, V = workload.domain.sizes, workload.gram()
    n = len(V)
    places = np.arange(n).reshape(sizes)
    row = np.zeros(n)
    for shift in np.ndindex(sizes):
        moved = np.roll(places, shift, tuple(range(len(sizes)))).ravel()
        row += V[np.ix_(moved, moved)][0] / n
    return np.fft.fftn(row.reshape(sizes)).real


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_eigenvalues_of_the_average(name):
    workload = WORKLOADS[name]
    found = workload.structure.translation_spectrum()
    assert found.shape == workload.domain.sizes
    assert found == pytest.approx(average(workload), abs=1e-9 * workload.frobenius_squared)
    assert found.sum() == pytest.approx(workload.frobenius_squared)


@pytest.mark.parametrize("name", [name for name, workload in WORKLOADS.items() if workload.symmetry])
def test_they_are_those_of_v_where_it_is_invariant(name):
    workload = WORKLOADS[name]
    eigenvalues = np.linalg.eigvalsh(workload.gram())
    assert np.sort(workload.structure.translation_spectrum().ravel()) == pytest.approx(eigenvalues, abs=1e-9)


def test_a_million_values_take_no_matrix():
    n = 1 << 20
    assert st.all_range(n).structure.translation_spectrum().sum() == pytest.approx(
        st.all_range(n).frobenius_squared
    )
