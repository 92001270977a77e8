"""What long commands and first results of new sizes cost, in processor seconds against a reference of the same run.

The reference is the processor time of a Python process that imports JAX and SciPy, about half a second of an idle core;
times of processors are compared, as other processes may take the cores.
Run with: pytest tests/benchmarks/test_throughput.py -n 0 --benchmark-only
"""

import os
import resource
import subprocess
import sys

import numpy as np
import pytest

import stratagem as st
from stratagem.mechanism.mechanism import Mechanism

ROWS = int(float(os.environ.get("STRATAGEM_ROWS", "2e6")))
OURS = ("JAX_", "STRATAGEM_", "PYTHONDONTWRITEBYTECODE")
"""Settings of a developer; among them those that keep Python from storing byte code."""


def spent(folder, *arguments) -> float:
    """Return the processor seconds of a Python process and of those that it starts, without compiled code."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**plain, "STRATAGEM_COMPILATION_CACHE": "off"},
        check=True,
        capture_output=True,
        cwd=folder,
    )
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime


def command(*words):
    return ("-m", "stratagem.cli", *words)


def saved(workload, folder):
    solution = st.optimise(workload, 1.0, seconds=5)
    return Mechanism.of(solution.strategy, workload, 1.0).save(folder / "m.ldp.json")


def rows(folder):
    values = np.random.default_rng(0).integers(0, 64, ROWS).tolist()
    (folder / "rows.csv").write_text("value\n" + "\n".join(map(str, values)) + "\n")
    saved(st.prefix(64), folder)


FIRST = "import stratagem as st; st.optimise(st.{}, 1.0)"
SIZES = """
import stratagem as st
for n in (9, 13):
    for workload in (st.prefix, st.histogram, st.all_range):
        st.optimise(workload(n), 1.0)
"""
CASES = {
    "first result of prefix 12": (None, ("-c", FIRST.format("prefix(12)")), 4),
    "first results of six problems": (None, ("-c", SIZES), 6),
    "prefix 64": (None, ("-c", FIRST.format("prefix(64)")), 9),
    "rows of a file randomised": (
        rows,
        command(
            "randomise", "m.ldp.json", "--data", "rows.csv", "--column", "value", "-o", "r.jsonl", "--force"
        ),
        7,
    ),
    "audit of a histogram of 64": (
        lambda folder: saved(st.histogram(64), folder),
        command("audit", "m.ldp.json"),
        50,
    ),
    "comparison of marginals of 2^10": (
        None,
        command("compare", "marginals", "--order", "2", "--domain", "2^10", "--epsilon", "1"),
        50,
    ),
    "count mechanism of 64": (
        None,
        command("count", "--size", "64", "--alpha", "0.9", "--loss", "L2", "--properties", "all"),
        6,
    ),
}
"""What is prepared, the command, and how many references it may take: about twice what was measured."""


@pytest.mark.parametrize("name", CASES)
def test_processor_time_against_an_import(name, benchmark, tmp_path):
    prepare, arguments, most = CASES[name]
    if prepare is not None:
        prepare(tmp_path)
    spent(tmp_path, *command("--help"))  # byte code is there from here on
    taken = benchmark.pedantic(spent, args=(tmp_path, *arguments), rounds=1, iterations=1)
    reference = min(spent(tmp_path, "-c", "import jax, scipy.optimize") for _ in range(3))
    benchmark.extra_info |= {"processor seconds": taken, "reference": reference, "ratio": taken / reference}
    assert taken <= most * reference
