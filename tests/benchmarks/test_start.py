"""How long the first command of the README takes, for the first and the second time, and how fast light commands start.

The references are Python processes that import what the command cannot do without, in the same run.
Run with: pytest tests/benchmarks/test_start.py -n 0 --benchmark-only
"""

import os
import subprocess
import sys
import time

import pytest

FIRST = ("optimise", "prefix", "--domain", "64", "--epsilon", "1")
OURS = ("JAX_", "STRATAGEM_", "OPENBLAS_", "PYTHON")
"""Settings of a developer; among them those that keep Python from storing byte code."""


def seconds(cache, *arguments) -> float:
    """Return how long a Python process takes, with compiled code kept in a folder."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        env={**plain, "STRATAGEM_COMPILATION_CACHE": str(cache)},
        check=True,
        capture_output=True,
    )
    return time.perf_counter() - began


def command(*words) -> tuple[str, ...]:
    return ("-m", "stratagem.cli", *words)


def test_the_first_command_takes_twelve_imports_of_jax_and_then_six(benchmark, tmp_path):
    jax = min(seconds(tmp_path, "-c", "import jax, scipy.optimize") for _ in range(3))
    first = seconds(tmp_path, *command(*FIRST))
    benchmark.pedantic(seconds, args=(tmp_path, *command(*FIRST)), rounds=3, iterations=1)
    second = benchmark.stats.stats.min
    benchmark.extra_info |= {"first in s": first, "second in s": second, "import of jax in s": jax}
    benchmark.extra_info |= {"first to the import": first / jax, "second to the import": second / jax}
    assert first <= 12 * jax
    assert second <= 6 * jax


@pytest.mark.parametrize(("words", "most"), [("list", 12), ("--help", 3), ("estimate --help", 4)])
def test_light_commands_start_at_once(words, most, benchmark, tmp_path):
    numpy = min(seconds(tmp_path, "-c", "import numpy") for _ in range(3))
    benchmark.pedantic(seconds, args=(tmp_path, *command(*words.split())), rounds=5, iterations=1)
    ratio = benchmark.stats.stats.min / numpy
    benchmark.extra_info |= {"to the import of numpy": ratio}
    assert ratio <= most
