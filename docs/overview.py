"""Draw the picture of the README from its table: people needed by Stratagem, by the best published mechanism, at least.

Run: python docs/overview.py docs/images (writes overview.svg, and overview-dark.svg for dark pages)
"""

import re
import sys
from importlib.resources import as_file, files
from pathlib import Path

import matplotlib.pyplot as plt

README = Path(__file__).parents[1] / "README.md"
ROW = re.compile(r"^\| `([\w-]+)`, (.+?) \| ([\d,]+) \| ([\d,]+) \(`[\w-]+`\) \| ([\d,]+) \|$", re.MULTILINE)
BARS = {"Stratagem": "#d55e00", "best published mechanism": "#56b4e9", "proven minimum": "#999999"}
GROUNDS = {"overview.svg": ("#ffffff", "#1f2328"), "overview-dark.svg": ("#0d1117", "#f0f6fc")}
"""Colours of the page and of words, by file."""


def rows(text: str) -> dict[str, list[int]]:
    """Return the people needed, bar by bar, for every workload of the table."""
    return {
        f"{name}\n{what}": [int(one.replace(",", "")) for one in needed]
        for name, what, *needed in ROW.findall(text)
    }


def draw(people: dict[str, list[int]], ground: str, ink: str) -> plt.Figure:
    """Return the picture: three bars a workload, each with its number."""
    figure, axes = plt.subplots(figsize=(6, 4.4))
    figure.set_facecolor(ground)
    axes.set_facecolor(ground)
    for k, (bar, colour) in enumerate(BARS.items()):
        places = [4 * row + k for row in range(len(people))]
        drawn = axes.barh(places, [needed[k] for needed in people.values()], 0.9, color=colour, label=bar)
        axes.bar_label(drawn, fmt="{:,.0f}", padding=4, color=ink, fontsize=12)
    axes.set_yticks([4 * row + 1 for row in range(len(people))], people, color=ink, fontsize=12)
    axes.set_xticks([])
    axes.invert_yaxis()
    axes.set_title("people to ask at ε = 1 (fewer is better)", color=ink, fontsize=13)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.margins(x=0.16)
    figure.legend(loc="outside lower center", ncols=2, fontsize=12, labelcolor=ink)
    return figure


def main(folder: str) -> None:
    """Write the picture for light and for dark pages."""
    with as_file(files("stratagem.report.plots") / "paper.mplstyle") as style:
        plt.style.use(style)
    for name, colours in GROUNDS.items():
        draw(rows(README.read_text("utf-8")), *colours).savefig(
            Path(folder) / name, bbox_inches="tight", metadata={"Date": None}
        )


if __name__ == "__main__":
    main(sys.argv[1])
