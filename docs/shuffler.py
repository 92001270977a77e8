"""Draw what a shuffler does: the central epsilon of shuffled reports by the number of people, for local epsilon 1.

Run: python docs/shuffler.py docs/images/shuffler.png
"""

import sys
from importlib.resources import as_file, files

import matplotlib.pyplot as plt

import stratagem as st
from pictures import write

PEOPLE = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
DELTA = 1e-6
TICKS = (0.003, 0.01, 0.03, 0.1, 0.3, 1)
COLOURS = ("#0072b2", "#009e73")


def lines() -> dict[str, list[float]]:
    """Return the central epsilon at every number of people, by what is known of the mechanism."""
    found = {
        "any mechanism of local ε = 1": st.central.PrivacyBlanket.worst(1.0),
        "prefix, 64 values": st.optimise(st.prefix(64), 1.0, gap=0.01).strategy.blanket,
        "histogram, 64 values": st.optimise(st.histogram(64), 1.0, gap=0.01).strategy.blanket,
    }
    return {name: [blanket.epsilon(DELTA, people) for people in PEOPLE] for name, blanket in found.items()}


def main(path: str) -> None:
    """Draw the picture."""
    with as_file(files("stratagem.report.plots") / "paper.mplstyle") as style:
        plt.style.use(style)
    figure, axes = plt.subplots(figsize=(7, 3.2))
    for (name, found), colour in zip(lines().items(), ("black", *COLOURS), strict=True):
        axes.plot(PEOPLE, found, "o-", color=colour, markersize=4, label=name)
    axes.axhline(1, color="grey", linestyle=":", label="one report alone")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(PEOPLE[::2], [f"{people:,}" for people in PEOPLE[::2]])
    axes.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
    axes.set_xlabel("people whose reports are shuffled together")
    axes.set_ylabel("central ε\n(δ = 10⁻⁶)")
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
    write(figure, path, bbox_inches="tight")


if __name__ == "__main__":
    main(sys.argv[1])
