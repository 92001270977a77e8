"""Forty problems with limits of 2, 10 and 30 s: an answer with a valid bound in time, and at most 2 GB of memory.

Run with: pytest tests/benchmarks/test_limits.py -n 0 --benchmark-only

Each problem has a process of its own. What counts is wall time, or processor time if that is less, as others may work
on the same machine.
"""

import json
import subprocess
import sys

import pytest

MEMORY = 2e9
ON_TOP = 1.2, 3.0
TABLES = "{'age': 9, 'income': 7, 'region': 7, 'smoker': 3}"
PROBLEMS = {
    **{
        f"{name} {size}": f"st.{name}({size})"
        for name in ("prefix", "all_range", "histogram")
        for size in (16, 64, 256, 1024, 1 << 16, 1 << 20)
    },
    **{f"mean {size}": f"st.mean(range({size}))" for size in (16, 64, 256, 1024)},
    "short ranges 256": "st.all_range(256, 8)",
    "short ranges 65536": "st.all_range(1 << 16, 8)",
    "moments 64": "st.moments(range(64), 3)",
    "moments 256": "st.moments(range(256), 2)",
    "pairs of 2^10": "st.marginals((2,) * 10, 2)",
    "pairs of 2^20": "st.marginals((2,) * 20, 2)",
    "all tables of 2^6": "st.all_marginals((2,) * 6)",
    "parities of 2^16": "st.parity((2,) * 16, 3)",
    "tables": f"st.stack([st.marginals({TABLES}, 1), st.marginals({TABLES}, 2)])",
    "product of 1000": "st.kron([st.prefix(40), st.all_range(25)])",
    "prefix 700": "st.prefix(700)",
    "five polynomials": "st.explicit(np.vander(np.linspace(-1, 1, 128), 5).T)",
    "sparse": "st.explicit((rng.random((300, 256)) < 0.05) * rng.random((300, 256)))",
    "sparse, of 1400": "st.explicit((rng.random((100, 1400)) < 0.02).astype(float))",
    "five of 200": "st.explicit(rng.standard_normal((5, 200)))",
    "dense 64": "st.explicit(rng.standard_normal((64, 64)))",
    "dense 256": "st.explicit(rng.standard_normal((256, 256)))",
    "prefix and histogram": "st.stack([st.prefix(64), st.weighted(st.histogram(64), 3.0)])",
    "prefix and ranges 1024": "st.stack([st.prefix(1024), st.all_range(1024)])",
}
PROGRAM = """
import json, resource, sys, time
import numpy as np
import stratagem as st
rng = np.random.default_rng(0)
workload = {problem}
began, used = time.perf_counter(), time.process_time()
found = st.optimise(workload, 1.0, seconds={limit})
taken = time.perf_counter() - began, time.process_time() - used
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps(dict(taken=taken, memory=memory, objective=found.objective, bound=found.lower_bound, gap=found.gap)))
"""


@pytest.mark.parametrize("limit", [2, 10, 30])
@pytest.mark.parametrize("name", PROBLEMS)
def test_an_answer_in_time(name, limit, benchmark):
    program = [sys.executable, "-c", PROGRAM.format(problem=PROBLEMS[name], limit=limit)]
    run = benchmark.pedantic(
        subprocess.run, (program,), {"capture_output": True, "text": True, "check": True}
    )
    got = json.loads(run.stdout)
    benchmark.extra_info.update(got)
    assert 0 < got["bound"] <= got["objective"] * (1 + 1e-9)
    assert min(got["taken"]) <= ON_TOP[0] * limit + ON_TOP[1]
    assert got["memory"] <= MEMORY
