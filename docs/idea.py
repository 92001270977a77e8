"""Draw the picture of the theory: a strategy as a table of reports and values.

Run: python docs/idea.py docs/images/idea.svg
"""

import sys
from importlib.resources import as_file, files

import matplotlib.pyplot as plt
import numpy as np

import stratagem as st
from pictures import write

VALUES, EPSILON = 8, 1.0


def main(path: str) -> None:
    """Draw the table, rows that speak for low values first."""
    Q = st.optimise(st.prefix(VALUES), EPSILON).strategy.dense().matrix
    dark = Q > 1.001 * Q.min(axis=1, keepdims=True)
    order = np.argsort(-(dark @ 2.0 ** -np.arange(VALUES)))
    with as_file(files("stratagem.report.plots") / "paper.mplstyle") as style:
        plt.style.use(style)
    figure, axes = plt.subplots(figsize=(6, 3.6))
    edges = np.concatenate([[0], np.cumsum(Q[order].mean(axis=1))])
    axes.pcolormesh(
        np.arange(VALUES + 1), edges, dark[order], cmap="Blues", vmin=-0.4, vmax=1.4, edgecolors="white"
    )
    axes.set_xticks(np.arange(VALUES) + 0.5, np.arange(VALUES))
    axes.set_yticks([])
    axes.invert_yaxis()
    axes.set_xlabel("value of a user", fontsize=11)
    axes.set_ylabel("reports, each as high\nas it is likely", fontsize=11)
    axes.tick_params(labelsize=11, length=0)
    axes.set_title(f"dark: {np.exp(EPSILON):.2f} times as likely as light in the same row", fontsize=12)
    write(figure, path, bbox_inches="tight")


if __name__ == "__main__":
    main(sys.argv[1])
