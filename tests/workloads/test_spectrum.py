"""Eigenvalues by attributes touched, against the Gram matrix itself."""

import numpy as np
import pytest

import stratagem as st

SPECTRA = {
    "marginals": st.marginals("a=3,b=2,c=2,d=3", 2),
    "parity": st.parity("2^5", 3),
    "all marginals": st.all_marginals("2^4"),
    "histogram": st.histogram("a=3,b=4"),
    "total": st.total("2^3"),
    "kron": st.kron(
        [st.total({"x": 2}), st.histogram({"y": 2}), st.histogram({"z": 2}), st.marginals("a=3,b=2", 1)]
    ),
    "one table more": st.weighted(
        st.stack(
            [
                st.marginals("2^4", 2),
                st.kron([(st.histogram if i < 4 else st.total)({f"a{i}": 2}) for i in (1, 2, 3, 4)]),
            ]
        ),
        2.0,
    ),
}


@pytest.mark.parametrize("workload", SPECTRA.values(), ids=SPECTRA)
def test_the_spectrum_holds_the_eigenvalues_of_the_gram_matrix(workload):
    spectrum, sizes = workload.structure.spectrum, workload.domain.sizes
    eigenvalues = np.fft.fftn(workload.gram()[:, 0].reshape(sizes)).real / workload.domain_size
    for frequencies in np.ndindex(*sizes):
        touched = [i for i, frequency in enumerate(frequencies) if frequency]
        assert eigenvalues[frequencies] == pytest.approx(spectrum.of(touched), abs=1e-12)
    assert spectrum.multiplicities @ spectrum.values == pytest.approx(eigenvalues.sum())


def test_ordered_values_have_no_spectrum_and_a_thousand_attributes_have_a_short_one():
    assert st.prefix(8).structure.spectrum is None
    assert st.stack([st.prefix(8), st.histogram(8)]).structure.spectrum is None
    spectrum = st.marginals("2^1000", 3).structure.spectrum
    assert [spectrum.multiplicity(kind) for kind in spectrum.types] == [1, 1000, 499_500, 166_167_000]
    assert spectrum.values[-1] == 0.125


def test_the_symmetry_is_known_where_no_float_holds_the_number_of_cells():
    workload = st.stack([st.histogram("2^2000"), st.weighted(st.total("2^2000"), 2.0)])
    assert workload.symmetry == (2,) * 2000
    with pytest.raises(ValueError, match="above the largest float64"):
        _ = workload.structure.norms
    assert st.kron([workload, st.prefix({"age": 100})]).symmetry is None


@pytest.mark.parametrize("workload", SPECTRA.values(), ids=SPECTRA)
def test_quantities_per_user_type_go_on_where_the_domain_cannot_be_counted(workload):
    assert workload.counted
    assert workload.scale == workload.domain_size
    assert workload.mean_square == pytest.approx(np.trace(workload.gram()) / workload.domain_size)
    spectrum = workload.structure.spectrum
    assert workload.mean_square == pytest.approx(spectrum.multiplicities @ spectrum.values)


def test_a_column_of_marginals_has_one_cell_in_every_table():
    workload = st.marginals("2^1000", 3)
    assert (workload.counted, workload.scale) == (False, 1.0)
    assert workload.mean_square == pytest.approx(1000 * 999 * 998 / 6)
