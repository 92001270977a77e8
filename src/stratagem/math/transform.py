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


def rfftn(x: np.ndarray) -> np.ndarray:
    """Return the transform over all axes; of the last axis the frequencies 0, ..., n // 2."""
    return cast(np.ndarray, fft.rfftn(x, workers=WORKERS))


def irfftn(spectrum: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the real array of this shape with this half of its spectrum."""
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
