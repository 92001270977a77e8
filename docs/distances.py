"""Draw what strategies for values on a line gain: total variances by the step between neighbours, over the bound.

Run: python docs/distances.py docs/images/distances.png
"""

import sys
from importlib.resources import as_file, files

import matplotlib.pyplot as plt

import stratagem as st
from pictures import write

STEPS = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0)
WORKLOADS = {"histogram": st.histogram(16), "all-range": st.all_range(16), "prefix": st.prefix(16)}
TICKS = (1, 2, 5, 10, 20)
COLOURS = ("#0072b2", "#009e73", "#cc79a7")


def main(path: str) -> None:
    """Draw the picture."""
    with as_file(files("stratagem.report.plots") / "paper.mplstyle") as style:
        plt.style.use(style)
    figure, axes = plt.subplots(figsize=(7, 3.2))
    for (name, workload), colour in zip(WORKLOADS.items(), COLOURS, strict=True):
        designs = [st.optimise(workload, constraints=[st.Steps(step)]) for step in STEPS]
        published = [one.others["published"].objective / one.lower_bound for one in designs]
        ours = [one.objective / one.lower_bound for one in designs]
        axes.plot(STEPS, published, "o-", color=colour, label=f"geometric mechanism: {name}")
        axes.plot(STEPS, ours, "D--", color=colour, markersize=4)
    axes.plot([], [], "D--", color="grey", markersize=4, label="Stratagem, all three; 1 is the bound")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(STEPS, [f"{step:g}" for step in STEPS])
    axes.set_yticks(TICKS, [f"{tick}" for tick in TICKS])
    axes.minorticks_off()
    axes.set_xlabel("privacy budget between a value and the next")
    axes.set_ylabel("total variance\ndivided by the bound")
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
    write(figure, path, bbox_inches="tight")


if __name__ == "__main__":
    main(sys.argv[1])
