"""How long the accountant of shuffled reports takes, next to one Fourier transform of its largest lattice.

Run with: pytest tests/benchmarks/test_shuffling_speed.py -n 0 --benchmark-only
"""

import timeit

import numpy as np
import pytest

from stratagem.math.shuffling import MOST_CELLS, PrivacyBlanket


@pytest.mark.parametrize(("users", "most"), [(10**4, 40), (10**6, 40), (10**9, 150)])
def test_a_central_epsilon_takes_some_transforms(users, most, benchmark):
    power = np.ones(MOST_CELLS // 2 + 1, dtype=complex)
    reference = min(timeit.repeat(lambda: np.fft.irfft(power, MOST_CELLS), number=1, repeat=5))
    benchmark.pedantic(PrivacyBlanket.worst(1.0).epsilon, args=(1e-6, users), rounds=3, iterations=1)
    ratio = benchmark.stats.stats.min / reference
    benchmark.extra_info |= {"to a transform of 2^20 points": ratio}
    assert ratio <= most
