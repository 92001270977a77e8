"""Partitions of the domain whose groups are reported through an encoding, too large for a matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from stratagem.baselines.local_hashing import local_hashing
from stratagem.baselines.unary_encoding import optimised_unary_encoding, symmetric_unary_encoding
from stratagem.strategies.linear_protocol import LinearProtocol
from stratagem.strategies.stratified_protocol import Partition, StratifiedProtocol

ENCODINGS: Mapping[str, Callable[[int, float], LinearProtocol]] = {
    "optimised": optimised_unary_encoding,
    "symmetric": symmetric_unary_encoding,
    "hashing": local_hashing,
}
"""Oracles by name: one bit for every cell, of least variance (OUE) or flipped alike (SUE), or a hash (OLH)."""


def encode_view(
    views: Sequence[np.ndarray], shares: np.ndarray, epsilon: float, encoding: str
) -> StratifiedProtocol:
    """Draw a partition, report the user's group through an encoding; least squares combines the groups.

    Args:
        views: partitions of the user types, each an array (n,) of groups 0..k-1.
        shares: probabilities of the partitions, summing to one.
        epsilon: the budget.
        encoding: a name from ENCODINGS.

    Guarantee:
        epsilon-LDP: the partition is drawn without a look at the value, and the encoding is epsilon-LDP.

    Raises:
        ValueError: for an unknown encoding or shares that do not sum to one.
    """
    if encoding not in ENCODINGS:
        raise ValueError(f"encoding is {encoding!r}; choose one of {', '.join(ENCODINGS)}.")
    oracle = ENCODINGS[encoding]
    drawn = (
        Partition(view, oracle(int(view.max()) + 1, epsilon), float(share))
        for view, share in zip(views, shares, strict=True)
    )
    return StratifiedProtocol(tuple(drawn))
