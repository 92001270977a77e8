"""Write docs/benchmarks.md: objectives of ours, of the best published mechanism and of the bound, with seconds.

Run it from the root of the repository: `python docs/benchmarks.py`. It takes one or two minutes on two cores.
"""

import os
import platform
import re
import time
from importlib.metadata import version
from pathlib import Path

import stratagem as st

TARGET = Path(__file__).with_suffix(".md")
PACKAGES = ("stratagem", "jax", "numpy", "scipy")
BUDGETS = (0.5, 1.0, 2.0)
CASES = {
    "histogram, 16 values": (st.histogram(16), BUDGETS),
    "prefix, 16 values": (st.prefix(16), BUDGETS),
    "prefix, 64 values": (st.prefix(64), (1.0,)),
    "all ranges, 16 values": (st.all_range(16), BUDGETS),
    "pairs of 4 yes-or-no facts": (st.marginals("2^4", 2), BUDGETS),
    "pairs of 100 yes-or-no facts": (st.marginals("2^100", 2), (1.0,)),
}
"""Workloads, each with the budgets that it is solved for."""
HEAD = """\
# Benchmarks

How good are the mechanisms, and how long does the search take? `python docs/benchmarks.py` writes this page again.

* **ours** and **best published**: by how many per cent the [objective](glossary.md#objective) is above the
  [lower bound](glossary.md#bound). No mechanism with unbiased estimates from one report per person is below 0 %.
* **bound**: that lower bound.
* **seconds**: processor time of the search, all cores together, with all bounds and all published mechanisms, each
  tuned to its best. The first row of a new size includes the time to compile it.
"""
COLUMNS = ("workload", "ε", "ours", "best published", "which", "bound", "seconds")


def processor() -> str:
    """Return the name of the processor, as the system states it."""
    info = Path("/proc/cpuinfo")
    named = re.search(r"^model name\s*: (.+)$", info.read_text(), re.MULTILINE) if info.exists() else None
    return named[1] if named else platform.processor() or platform.machine()


def machine() -> str:
    """Return a sentence about the processor, its cores and the versions."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"Measured on {processor()} with {os.cpu_count()} cores, {platform.system()}, Python "
        f"{platform.python_version()}, {versions}."
    )


def over(objective: float, bound: float) -> str:
    """Return by how many per cent an objective is above the proven minimum."""
    return f"+{100 * max(objective / bound - 1, 0):.1f} %"


def row(name: str, workload: st.Workload, epsilon: float) -> tuple[str, ...]:
    """Solve one case and return its cells."""
    began = time.process_time()
    found = st.optimise(workload, epsilon)
    seconds = time.process_time() - began
    best = min(found.baselines, key=lambda one: one.objective)
    bound = found.lower_bound
    return (
        name,
        f"{epsilon:g}",
        over(found.objective, bound),
        over(best.objective, bound),
        f"`{best.mechanism}`",
        f"{bound:,.1f}",
        f"{seconds:.1f}",
    )


def table() -> str:
    """Solve all cases and return the table."""
    rows = [row(name, workload, epsilon) for name, (workload, all_) in CASES.items() for epsilon in all_]
    lines = [COLUMNS, ("---", "--:", "--:", "--:", "---", "--:", "--:"), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Write the page."""
    TARGET.write_text(f"{HEAD}\n{table()}\n\n{machine()}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
