"""Subset selection of the best size."""

from __future__ import annotations

import numpy as np

from stratagem.math.number import integer
from stratagem.math.privacy import probability, ratio
from stratagem.published.baseline import Baseline, Candidates, Setting
from stratagem.strategies.subset_protocol import SubsetSelection
from stratagem.strategies.unary_protocol import LARGEST


def subset_selection(domain_size: int, epsilon: float, subset_size: int | None = None) -> SubsetSelection:
    """Report a set of k values, E times as likely if it holds the own one: p = E k/(E k + n - k).

    Without a size the one of least mean variance for the histogram is taken, near n/(E + 1).

    Guarantee:
        epsilon-LDP, measured from p as it is stored.

    Raises:
        ValueError: if there are fewer than 2 values or the size is not from 1 to n - 1.

    Reference:
        Ye, Barg, IEEE Trans. Inf. Theory 2018; Wang et al. 2016.

    Example:
        >>> subset_selection(64, 1.0).k
        17
    """
    n = integer(domain_size, "The number of values", 2, LARGEST, "name the size of the domain")
    k = best_subset_size(n, epsilon, n, n) if subset_size is None else subset_size
    k = integer(k, "The subset size k", 1, n - 1, "the best is near n/(e^epsilon + 1)")
    return SubsetSelection(n, k, probability(ratio(epsilon) * k / (n - k)))


def best_subset_size(domain_size: int, epsilon: float, total: float, trace: float) -> int:
    """Return the k of least mean variance for a Gram matrix with this sum and trace; every k is tried."""

    def moment(k: int) -> float:
        return subset_selection(domain_size, epsilon, k).mean_moment(total, trace)

    return min(range(1, domain_size), key=moment)


def _candidates(setting: Setting, epsilon: float) -> Candidates:
    if setting.domain_size > 1:
        k = best_subset_size(
            setting.domain_size, epsilon, float(setting.gram.sum()), float(np.trace(setting.gram))
        )
        yield f"{k} values", subset_selection(setting.domain_size, epsilon, k)


SUBSET_SELECTION = Baseline(
    "subset-selection",
    "a random set of values that likes to hold the own one",
    "@ye2018optimal; @wang2016mutual",
    _candidates,
)
