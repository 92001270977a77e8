"""Draw the picture of the README: errors above the proven minimum, Stratagem's and the best published mechanism's.

Run: python docs/overview.py docs/images/overview.png
"""

import sys
from importlib.resources import as_file, files

import matplotlib.pyplot as plt

import stratagem as st
from stratagem.solvers.problem import relative_gap

EPSILONS = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0)
WORKLOADS = {
    "prefix, 16 values": st.prefix(16),
    "all-range, 16 values": st.all_range(16),
    "pairs of 4 bits": st.marginals("2^4", 2),
}
NEAR = 0.0003
"""Gap at which the search for a bound ends."""
COLOURS = ("#0072b2", "#009e73", "#cc79a7")


def above(workload: st.Workload) -> tuple[list[float], list[float]]:
    """Return by how many per cent our and the best published total variance is above the proven minimum, by epsilon.

    The variance that one user adds, in the mean over user types, above `Solution.least_variance`.
    """
    ours, published = [], []
    for epsilon in EPSILONS:
        comparison = st.compare(workload, epsilon)
        found = comparison.compared[comparison.rows[0].mechanism]
        best = next(comparison.compared[row.mechanism] for row in comparison.rows if not row.optimised)
        # on a busy machine the comparison's search for a bound ends by its clock; this one has more time
        bounds = st.tighten(comparison.bounds, workload, epsilon, found.objective, gap=NEAR, seconds=300)
        least = found.problem.least(bounds)
        ours.append(100 * relative_gap(found.accuracy.average_variance, least))
        published.append(100 * relative_gap(best.accuracy.average_variance, least))
    return ours, published


def main(path: str) -> None:
    """Draw the picture."""
    with as_file(files("stratagem.report.plots") / "paper.mplstyle") as style:
        plt.style.use(style)
    figure, axes = plt.subplots(figsize=(7, 3.2))
    for (name, workload), colour in zip(WORKLOADS.items(), COLOURS, strict=True):
        ours, published = above(workload)
        axes.plot(EPSILONS, published, "o-", color=colour, label=f"best published: {name}")
        axes.plot(EPSILONS, ours, "D--", color=colour, markersize=4)
    axes.axhline(0, color="black", linewidth=1)
    axes.set_xscale("log", base=2)
    axes.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    axes.set_xlabel("privacy budget ε of one person")
    axes.set_ylabel("variance above the\nproven minimum (%)")
    axes.plot([], [], "D--", color="grey", markersize=4, label="Stratagem, all three; 0: proven minimum")
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(path, dpi=200, bbox_inches="tight")


if __name__ == "__main__":
    main(sys.argv[1])
