"""The exact law of the shuffled reports of a few users, and how far two such laws are apart."""

import math
from collections import Counter
from functools import reduce


def law(Q, types):
    """Return the probability of every histogram of the reports of users of these types."""

    def joined(found, u):
        more = Counter()
        for counts, chance in found.items():
            for y in range(len(Q)):
                more[*counts[:y], counts[y] + 1, *counts[y + 1 :]] += chance * Q[y, u]
        return more

    return reduce(joined, types, {(0,) * len(Q): 1.0})


def divergence(P, R, epsilon):
    """Return the hockey-stick divergence of two laws."""
    return sum(max(0.0, chance - math.exp(epsilon) * R.get(place, 0.0)) for place, chance in P.items())
