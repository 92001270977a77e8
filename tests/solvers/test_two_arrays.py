"""Weights and prices of designs, by NumPy or by compiled code, of patterns or of mirror images: the same numbers."""

from dataclasses import replace

import jax
import numpy as np
import pytest

import stratagem as st
from stratagem.math.computing import cho_solve, cholesky, compiled, conjugate_gradients, largest
from stratagem.math.privacy import uniform
from stratagem.solvers.certified.design import Arithmetic, halves
from stratagem.solvers.problem import problem_of


def arithmetic(workload, precision, plain):
    F = problem_of(workload, 1.0).factor
    return Arithmetic((F / np.linalg.norm(F),), np.e - 1, precision, uniform(len(F)), plain)


def patterns(n, count):
    drawn = np.random.default_rng(n).random((count, n)) < 0.3
    return np.unique(np.concatenate([drawn, np.eye(n, dtype=bool)]), axis=0)[1:]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("precision", "tolerance"), [("float64", 1e-9), ("float32", 1e-4)])
@pytest.mark.parametrize("workload", [st.prefix(14), st.all_range(21), st.marginals("2^4", 2)], ids=str)
def test_designs_and_prices_are_the_same(workload, precision, tolerance):
    """The negative control takes fewer steps."""
    B, found = patterns(workload.domain_size, 300), []
    for plain in (True, False):
        numbers = arithmetic(workload, precision, plain)
        design = numbers.improved(B, np.ones(len(B)), None, 12)
        found.append((design, numbers.priced(design, B[:50], 8)))
    (one, (ones, scores)), (other, (others, worth)) = found
    assert one.value == pytest.approx(other.value, rel=tolerance)
    assert np.abs(one.p - other.p).max() < tolerance * one.p.max()
    assert one.value != pytest.approx(numbers.improved(B, np.ones(len(B)), None, 6).value, rel=tolerance)
    assert (ones == others).all(axis=1).mean() > 0.95  # scores that tie within rounding may end elsewhere
    assert np.median(np.abs(scores - worth)) < tolerance


@pytest.mark.parametrize(
    "workload", [st.prefix(14), st.prefix(21), st.all_range(15), st.histogram(9)], ids=str
)
def test_patterns_with_their_mirror_images_have_the_same_design_and_prices(workload):
    """The negative control leaves the mirror images out."""
    whole = arithmetic(workload, "float64", True)
    folded = replace(whole, F=halves(whole.F[0]))
    drawn = patterns(workload.domain_size, 200)
    B, p = folded.merged(drawn, np.ones(len(drawn)))
    one = folded.improved(B, p, None, 12)
    both = folded.both(replace(one, p=p))
    other = whole.improved(both.patterns, both.p, None, 12)
    assert len(B) < len(both.patterns) <= 2 * len(B)
    assert len(np.unique(both.patterns, axis=0)) == len(both.patterns)
    assert one.value == pytest.approx(other.value, rel=1e-9)
    assert np.abs(folded.both(one).p - other.p).max() < 1e-6 * other.p.max()
    assert one.value != pytest.approx(whole.improved(B, p, None, 12).value, rel=1e-3)
    again = folded.improved(B, one.p, one, 2)
    assert again.value == pytest.approx(whole.improved(other.patterns, other.p, other, 2).value, rel=1e-9)
    scores, worth = (use.priced(it, drawn, 0)[1] for use, it in ((folded, one), (whole, other)))
    assert np.abs(scores - worth).max() < 1e-6


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_the_largest_entries_of_a_row_are_found_without_sorting(precision, size):
    rng = np.random.default_rng(1)
    A = (rng.normal(size=(120, 70)) * size).astype(precision)
    A[:30] = np.round(A[:30] / size) * size  # many are equal
    A[30], counts = 3, rng.integers(1, 70, 120)
    with jax.enable_x64(True):
        found = np.asarray(compiled(largest)(jax.numpy.asarray(A), jax.numpy.asarray(counts)))
    assert (found.sum(axis=1) == counts).all()
    assert (found == largest(A, counts)).all()


def test_a_matrix_that_is_not_positive_definite_has_no_factor():
    assert np.isnan(cholesky(np.diag([1.0, -1.0]))).all()
    A = np.array([[4.0, 2.0], [2.0, 3.0]])
    assert np.allclose(cholesky(A) @ cholesky(A).T, A)
    assert np.allclose(A @ cho_solve(cholesky(A), np.array([1.0, 5.0])), [1.0, 5.0])


@pytest.mark.parametrize("most", [1, 8])
def test_conjugate_gradients_end_at_the_solution_or_after_the_steps_allowed(most):
    rng = np.random.default_rng(0)
    root, b, steps = rng.normal(size=(8, 8)), rng.normal(size=8), []
    A = root @ root.T + np.eye(8)
    v = conjugate_gradients(lambda d: steps.append(1) or A @ d, b, lambda r: r, most, 1e-12)
    assert len(steps) <= most
    assert (np.linalg.norm(A @ v - b) < 1e-6) == (most == 8)
