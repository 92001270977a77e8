"""The real Fourier basis of a cyclic group, by fast transforms."""

import numpy as np

from stratagem.workloads.workload import Array


def transform(x: Array) -> Array:
    """Return B x along the first axis, B the a x a real Fourier basis with B^T B = a I.

    Rows of B: 1; then sqrt(2) cos(2 pi j u / a), sqrt(2) sin(2 pi j u / a) for j = 1, 2, ... below a/2;
    then (-1)^u when a is even. For a = 2 this is [[1, 1], [1, -1]].
    """
    a = len(x)
    spectrum = np.fft.rfft(x, axis=0)
    pairs = (a - 1) // 2
    image = np.empty(x.shape)
    image[0] = spectrum[0].real
    image[1 : 2 * pairs : 2] = np.sqrt(2) * spectrum[1 : pairs + 1].real
    image[2 : 2 * pairs + 1 : 2] = -np.sqrt(2) * spectrum[1 : pairs + 1].imag
    if a % 2 == 0:
        image[-1] = spectrum[-1].real
    return image


def adjoint(y: Array) -> Array:
    """Return B^T y = a B^-1 y along the first axis."""
    a = len(y)
    pairs = (a - 1) // 2
    spectrum = np.zeros((a // 2 + 1, *y.shape[1:]), dtype=np.complex128)
    spectrum[0] = y[0]
    spectrum[1 : pairs + 1] = (y[1 : 2 * pairs : 2] - 1j * y[2 : 2 * pairs + 1 : 2]) / np.sqrt(2)
    if a % 2 == 0:
        spectrum[-1] = y[-1]
    return a * np.fft.irfft(spectrum, a, axis=0)


def averaged(diagonals: Array) -> Array:
    """Return the eigenvalues of the average of a symmetric V over all translations of Z_n, O(n log n).

    `diagonals` (n,): the sum of V[u, u + k] over u = 0, ..., n - 1 - k, for k = 0, ..., n - 1.
    """
    row = diagonals / len(diagonals)
    row[1:] += row[:0:-1].copy()
    return np.fft.fft(row).real
