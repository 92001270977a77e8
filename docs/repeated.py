"""Draw the error of the mean of repeated reports: a memo of optimised sets beside published protocols and the bound.

Run: python docs/repeated.py docs/images/repeated.png
"""

import math
import sys
from importlib.resources import as_file, files

import matplotlib.pyplot as plt

import stratagem as st
from pictures import write

SIZE, ONCE, PERMANENT = 32, 0.5, 2.0
REPORTS = (1, 3, 10, 30, 100, 300, 1000)
COLOURS = {"optimised sets": "#0072b2", "L-OSUE": "#d55e00", "OLOLOHA": "#009e73", "lower bound": "black"}


def variance(p1: float, q1: float, p2: float, q2: float, share: float) -> float:
    """Return the variance of the estimated share of one value from one report of two steps.

    (p1, q1) are the probabilities of the permanent step, (p2, q2) those of the second; `share` is the true one. At
    share 0 it is the published approximate variance.

    Reference:
        Arcolezi, Couchot, Al Bouna, Xiao, "Improving the utility of locally differentially private protocols for
        longitudinal and multidimensional frequency estimates", 2021.
    """
    seen = share * (p1 * p2 + (1 - p1) * q2) + (1 - share) * (q1 * p2 + (1 - q1) * q2)
    return seen * (1 - seen) / ((p1 - q1) ** 2 * (p2 - q2) ** 2)


def total(one: tuple[float, ...], permanent: tuple[float, ...], reports: int) -> float:
    """Return the total variance over all values of the mean of some reports of a user."""
    single, lasting = ((SIZE - 1) * variance(*each, 0) + variance(*each, 1) for each in (one, permanent))
    return lasting + (single - lasting) / reports


def l_osue(once: float, permanent: float, reports: int) -> float:
    """Return that of L-OSUE: optimal unary encoding, then symmetric flips of every bit."""
    E, F = math.exp(once), math.exp(permanent)
    p2 = (1 - E * F) / (E - F - E * F + 1)
    return total((0.5, 1 / (F + 1), p2, 1 - p2), (0.5, 1 / (F + 1), 1, 0), reports)


def ololoha(once: float, permanent: float, reports: int) -> float:
    """Return that of OLOLOHA: a hash to g values and two randomised responses, with the best g.

    Reference:
        Arcolezi, Pinzon, Palamidessi, Gambs, "Frequency estimation of evolving data under local differential
        privacy", EDBT 2023.
    """
    E, F = math.exp(once), math.exp(permanent)

    def hashed(g: int) -> float:
        p1, p2 = F / (F + g - 1), (E * (F + g - 2) - (g - 1)) / ((E + g - 1) * (F - 1))
        return total((p1, 1 / g, p2, (1 - p2) / (g - 1)), (p1, 1 / g, 1, 0), reports)

    return min(map(hashed, range(2, 40)))


def lines() -> dict[str, list[float]]:
    """Return the total variance for every number of reports, by protocol."""
    memos = [[st.Permanent(PERMANENT, reports)] for reports in REPORTS]
    ours = [st.optimise(st.histogram(SIZE), ONCE, constraints=memo) for memo in memos]
    return {
        "optimised sets": [one.problem.added(one.objective) for one in ours],
        "L-OSUE": [l_osue(ONCE, PERMANENT, reports) for reports in REPORTS],
        "OLOLOHA": [ololoha(ONCE, PERMANENT, reports) for reports in REPORTS],
        "lower bound": [one.least_variance for one in ours],
    }


def main(path: str) -> None:
    """Draw the picture."""
    with as_file(files("stratagem.report.plots") / "paper.mplstyle") as style:
        plt.style.use(style)
    figure, axes = plt.subplots(figsize=(7, 3.2))
    for name, found in lines().items():
        line = "--" if name == "lower bound" else "o-"
        errors = [math.sqrt(one / SIZE) for one in found]
        axes.plot(REPORTS, errors, line, color=COLOURS[name], markersize=4, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(REPORTS, [f"{reports:,}" for reports in REPORTS])
    axes.set_yticks((1, 2, 4), ["1", "2", "4"])
    axes.minorticks_off()
    axes.set_xlabel("reports of each person that are averaged")
    axes.set_ylabel("standard error\nof a count, per √people")
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
    write(figure, path, bbox_inches="tight")


if __name__ == "__main__":
    main(sys.argv[1])
