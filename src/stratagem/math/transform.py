"""Fast transforms of real arrays, on two threads."""

from __future__ import annotations

from typing import cast

import numpy as np
from scipy import fft

WORKERS = 2


def rfft(x: np.ndarray, n: int | None = None) -> np.ndarray:
    """Return the frequencies 0, ..., n // 2 of x along its last axis, padded with zeros to n."""
    return cast(np.ndarray, fft.rfft(x, n, workers=WORKERS))


def irfft(spectrum: np.ndarray, n: int) -> np.ndarray:
    """Return the n real values along the last axis that have this half of their spectrum."""
    return cast(np.ndarray, fft.irfft(spectrum, n, workers=WORKERS))


def fftn(x: np.ndarray) -> np.ndarray:
    """Return the transform over all axes, at all frequencies."""
    return cast(np.ndarray, fft.fftn(x, workers=WORKERS))


def rfftn(x: np.ndarray, last: int | None = None) -> np.ndarray:
    """Return the transform over the `last` axes, by default all; of the last one the frequencies 0, ..., n // 2."""
    return cast(np.ndarray, fft.rfftn(x, axes=range(-(last or x.ndim), 0), workers=WORKERS))


def irfftn(spectrum: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the real array that has this shape, in its last axes, with this half of its spectrum."""
    return cast(np.ndarray, fft.irfftn(spectrum, shape, workers=WORKERS))


def multiplicities(shape: tuple[int, ...]) -> np.ndarray:
    """Return for how many frequencies of the whole spectrum each of the half stands, along the last axis."""
    counts = np.full(shape[-1] // 2 + 1, 2.0)
    counts[0] = 1
    if shape[-1] % 2 == 0:
        counts[-1] = 1
    return counts


def fast_length(at_least: int) -> int:
    """Return the first length that has fast transforms."""
    return cast(int, fft.next_fast_len(at_least, real=True))


def correlation(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return sum_u a[u] b[u - g] for every shift g of a cycle, along the last axis."""
    return irfft(rfft(a) * np.conj(rfft(b)), a.shape[-1])


def krawtchouk(many: int, size: int, shifts: np.ndarray) -> np.ndarray:
    """Return P[l, k], the mean of chi(g) over the translations g that move j = shifts[k] places, (m + 1 x k).

    chi is a character of Z_a^m, a = size >= 2 and m = many >= 1, that touches l places. If I of them are among
    the j of a random g, a hypergeometric number, then P = E (-1/(a - 1))^I. The recurrence in l is stable from
    l = 0 up, and from l = m down, to the middle of where the polynomial oscillates: errors are about 1e-16.

    Reference:
        Delsarte, An algebraic approach to the association schemes of coding theory, 1973, chapter 4.
    """
    m, b, j = many, size - 1, np.asarray(shifts, dtype=float)
    up, down = np.empty((m + 1, len(j))), np.empty((m + 1, len(j)))
    up[0], up[1] = 1, 1 - j * size / (m * b)
    down[m] = (-1 / b) ** j
    down[m - 1] = (1 - j / m) * down[m] + j / m * (-1 / b) ** np.maximum(j - 1, 0)
    with np.errstate(all="ignore"):  # each overflows beyond the middle alone
        for count in range(1, m):
            middle = (m - count) * b + count - size * j
            up[count + 1] = (middle * up[count] - count * up[count - 1]) / ((m - count) * b)
        for count in range(m - 1, 0, -1):
            middle = (m - count) * b + count - size * j
            down[count - 1] = (middle * down[count] - (m - count) * b * down[count + 1]) / count
    return np.where(np.arange(m + 1)[:, None] <= (m * b - (b - 1) * j) / size, up, down)


def fourier_transform(x: np.ndarray) -> np.ndarray:
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


def fourier_adjoint(y: np.ndarray) -> np.ndarray:
    """Return B^T y = a B^-1 y along the first axis."""
    a = len(y)
    pairs = (a - 1) // 2
    spectrum = np.zeros((a // 2 + 1, *y.shape[1:]), dtype=np.complex128)
    spectrum[0] = y[0]
    spectrum[1 : pairs + 1] = (y[1 : 2 * pairs : 2] - 1j * y[2 : 2 * pairs + 1 : 2]) / np.sqrt(2)
    if a % 2 == 0:
        spectrum[-1] = y[-1]
    return a * np.fft.irfft(spectrum, a, axis=0)
