"""Draw two rounds: the bins that a first round of a tenth of the people merges, and the errors of one round and of two.

Run: python docs/two_rounds.py docs/images/two-rounds.png
"""

import sys
from importlib.resources import as_file, files

import matplotlib.pyplot as plt
import numpy as np

import stratagem as st
from pictures import write

EDGES = range(0, 129, 2)
COLOURS = ("#0072b2", "#d55e00")


def main(path: str) -> None:
    """Draw the picture."""
    with as_file(files("stratagem.report.plots") / "paper.mplstyle") as style:
        plt.style.use(style)
    rng = np.random.default_rng(1)
    pay = np.minimum(rng.lognormal(3.2, 0.4, 20_000), 127.9)
    people, few = np.histogram(pay, EDGES)[0], np.histogram(pay[:2000], EDGES)[0]
    first = st.optimise(st.all_range({"pay": st.bins(EDGES)}), 1.0, gap=0.02, seconds=10).mechanism()
    one = first.strategy.histogram(few, rng)
    second = st.study.second_round(first, one, users=18_000)
    merged = [float(edge) for edge in second.attributes[0].values.edges]
    two = second.strategy.histogram(np.histogram(pay[2000:], merged)[0], rng)
    found = second.estimate(two, st.prefix(second.domain))
    alone = first.estimate(first.strategy.histogram(people, rng), st.prefix(first.domain))
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(4.6, 4.2), sharex=True)
    upper.stairs(
        people / 200, EDGES, color="grey", fill=True, alpha=0.5, label="people in a bin of the first round"
    )
    upper.vlines(
        merged, 0, 1.2 * people.max() / 200, COLOURS[0], linewidth=1, label="edges of the merged bins"
    )
    upper.set_ylim(0, 1.2 * people.max() / 200)
    upper.set_title("A first round of 2,000 people chooses the bins of the other 18,000", loc="left", pad=20)
    upper.set_ylabel("people (%)")
    lower.plot(
        EDGES[1:-1], alone.standard_errors[:-1] / 200, "--", color=COLOURS[1], label="one round, all bins"
    )
    lower.plot(
        merged[1:-1],
        100 * found.standard_errors[:-1] / found.users,
        "o-",
        color=COLOURS[0],
        label="two rounds, merged bins",
    )
    lower.set_ylim(bottom=0)
    lower.set_xlabel("pay (euros an hour)")
    lower.set_ylabel("standard error of the\nshare below (% of the people)")
    upper.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2)
    lower.legend(loc="lower right")
    write(figure, path, dpi=300)


if __name__ == "__main__":
    main(sys.argv[1])
