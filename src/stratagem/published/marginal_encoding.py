"""Marginals one at a time by unary encodings: MargRR, and CALM's tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stratagem.published.baseline import LARGE, Baseline, Candidates, Setting
from stratagem.published.covering import screen
from stratagem.published.marginal import Tables, check_tables
from stratagem.published.partition import ENCODINGS, partition_protocol
from stratagem.published.table import table_cells
from stratagem.strategies.stratified_protocol import StratifiedProtocol


def marginal_encoding(
    sizes: Sequence[int], epsilon: float, tables: Tables, encoding: str = "symmetric"
) -> StratifiedProtocol:
    """Draw one of the tables, report the user's cell of it by an encoding.

    The estimate is the least-squares one, so that tables agree on what they share; the published MargRR
    leaves each table to itself, which is never more accurate on average.

    Args:
        sizes: numbers of values of the attributes.
        epsilon: the budget.
        tables: attribute sets to draw from, all equally likely.
        encoding: "symmetric" (SUE), "optimised" (OUE) or "hashing" (OLH).

    Guarantee:
        epsilon-LDP: that of `partition_protocol`.

    Raises:
        ValueError: for no tables, a table with a repeated or unknown attribute, or an unknown encoding.

    Reference:
        MargRR of Cormode, Kulkarni, Srivastava, SIGMOD 2018, section 4.3; Zhang et al., CCS 2018 (CALM).
    """
    check_tables(sizes, tables)
    partitions = [table_cells(sizes, attributes) for attributes in tables]
    return partition_protocol(partitions, np.full(len(partitions), 1 / len(partitions)), epsilon, encoding)


def _candidates(setting: Setting, epsilon: float) -> Candidates:
    if setting.domain_size > LARGE:
        return
    for cover in screen(setting, epsilon, 1, ENCODINGS):
        yield str(cover), marginal_encoding(setting.sizes, epsilon, cover.tables, cover.oracle)


MARGINAL_ENCODING = Baseline(
    "marginal-encoding",
    "the cell of a random table, as noisy bits or a noisy hash",
    "@cormode2018marginal (MargRR); @zhang2018calm (CALM)",
    _candidates,
)
