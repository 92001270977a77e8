"""The certified search on whatever device JAX finds: seconds, gap, and steps that move nothing between devices.

Run with: pytest tests/benchmarks/test_device.py -n 0 --benchmark-only
"""

from contextlib import nullcontext

import jax
import pytest

import stratagem as st
from stratagem.math import computing
from stratagem.solvers.certified import design


def guarded(function, *static):
    """Return a compiled function whose calls fail where anything but its own arguments goes to or from the device."""
    inner = computing.compiled(function, *static)

    def call(*arguments, **options):
        given = [one if isinstance(one, int) else jax.device_put(one) for one in arguments]
        jitted = any(isinstance(one, int) for one in given)
        with nullcontext() if jitted else jax.transfer_guard("disallow"):
            found = inner(*given, **options)
        with jax.transfer_guard("disallow"):
            jax.block_until_ready(found)
        return found

    return call


@pytest.mark.parametrize(("n", "seconds"), [(1024, 60), (4096, 240)])
def test_the_certified_search_on_the_device_of_jax(n, seconds, monkeypatch, benchmark):
    monkeypatch.setattr(design, "compiled", guarded)
    solver = st.Certified(max_seconds=seconds)
    found = benchmark.pedantic(st.optimise, args=[st.prefix(n), 1.0, solver], rounds=1, iterations=1)
    device = jax.devices()[0]
    benchmark.extra_info |= {"device": f"{device.platform} {device.device_kind}", "gap": found.gap}
    assert found.gap < {1024: 0.03, 4096: 0.06}[n]
