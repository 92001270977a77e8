"""The worst pattern of a dual certificate among all of them, where they can be listed."""

from __future__ import annotations

import numpy as np

from stratagem.bounds.branch import Worst
from stratagem.bounds.patterns import sets
from stratagem.bounds.slack import Slack

LISTED = 20
"""Largest domain: a million patterns, a tenth of a second."""
SHOWN = 4096
"""Violated patterns returned, the most violated ones."""


def listed(slack: Slack) -> Worst:
    """Return the least score f(T)/lengths over all 2^n patterns T, and the patterns of the least scores.

    T is a pattern of the first half of the elements and one of the others: f is the sum of their own values and of
    one matrix product.
    """
    n = len(slack.linear)
    head, tail = (sets(np.arange(2**many), many).astype(float) for many in (n // 2, n - n // 2))
    k, pair = n // 2, slack.pair
    values = _values(head, slack.linear[:k], pair[:k, :k])[:, None] + _values(
        tail, slack.linear[k:], pair[k:, k:]
    )
    values += slack.constant + head @ pair[:k, k:] @ tail.T
    sizes = head.sum(axis=1).astype(int)[:, None] + tail.sum(axis=1).astype(int)
    scores = (values / slack.lengths[sizes]).ravel()
    floor = float(((values - slack.rounding[sizes]) / slack.lengths[sizes]).min())
    count = min(SHOWN, len(scores))
    worst = np.argpartition(scores, count - 1)[:count]
    worst = worst[scores[worst] < 0]
    first, second = np.divmod(worst, len(tail))
    patterns = np.concatenate([head[first], tail[second]], axis=1) > 0
    return Worst(min(floor, 0.0), min(float(scores.min()), 0.0), patterns, len(scores))


def _values(X: np.ndarray, linear: np.ndarray, pair: np.ndarray) -> np.ndarray:
    """Return the terms of f that only see some of the elements, for the rows of X."""
    return X @ linear + 0.5 * np.einsum("ti,ti->t", X @ pair, X)
