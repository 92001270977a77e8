"""Draw what several questions cost: a split budget, one question each, and Stratagem, by questions and by epsilon.

Run: python docs/questions.py docs/images/questions.png
"""

import sys
from importlib.resources import as_file, files

import matplotlib.pyplot as plt

import stratagem as st
from pictures import write

QUESTIONS, EPSILONS = (2, 3, 4, 6, 8, 10), (0.5, 1, 2, 3, 4)
SECONDS = 90.0
COLOURS = {"split budget": "#d55e00", "one question each": "#0072b2", "optimised": "#009e73"}
SIZES = {"split budget": 4, "one question each": 7, "optimised": 4}
"""Of the marks: two that coincide are both seen."""
NAMES = {
    "split budget": "every question, with\na part of ε each",
    "one question each": "one question each\n(published)",
    "optimised": "Stratagem",
}


def people(sizes: tuple[int, ...], epsilon: float) -> dict[str, float]:
    """Return the people needed for a typical error of 1 %, by the way of asking; two values are no order."""
    asked = st.Survey(sizes)
    for name, size in zip(asked.domain.names, sizes, strict=True):
        asked = asked.prefix(name) if size > 2 else asked.table(name)
    found = st.compare(asked, epsilon, seconds=SECONDS).records()
    needed = {one["mechanism"]: one["users_for_one_percent"]["root_mean_square"] for one in found}
    return {name: needed[name] for name in COLOURS}


def panels() -> list[tuple[str, tuple[float, ...], list[dict[str, float]]]]:
    """Return for each panel what lies across, where, and the people needed there."""
    return [
        (
            "questions of 8 ordered answers, ε = 1",
            QUESTIONS,
            [people((8,) * many, 1.0) for many in QUESTIONS],
        ),
        ("ε, four yes/no questions", EPSILONS, [people((2,) * 4, epsilon) for epsilon in EPSILONS]),
    ]


def main(path: str) -> None:
    """Draw the picture."""
    with as_file(files("stratagem.report.plots") / "paper.mplstyle") as style:
        plt.style.use(style)
    figure, both = plt.subplots(1, 2, figsize=(7, 3.2), layout="constrained")
    for axes, (label, places, found) in zip(both, panels(), strict=True):
        for name, colour in COLOURS.items():
            values = [one[name] for one in found]
            axes.plot(places, values, "o-", color=colour, markersize=SIZES[name], label=NAMES[name])
        axes.set_yscale("log")
        axes.set_xticks(places, [f"{place:g}" for place in places])
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.minorticks_off()
        axes.set_xlabel(label)
    both[0].set_ylabel("people needed for\na standard error of 1 %")
    figure.legend(
        *both[0].get_legend_handles_labels(), frameon=False, fontsize=9, ncols=3, loc="outside lower center"
    )
    write(figure, path)


if __name__ == "__main__":
    main(sys.argv[1])
