"""The hierarchical mechanism with encodings: TreeOUE and TreeOLH with constrained inference."""

from __future__ import annotations

from numpy.typing import ArrayLike

from stratagem.published.baseline import LARGE, Baseline, Candidates, Setting
from stratagem.published.hierarchical import node_partitions
from stratagem.published.partition import ENCODINGS, partition_protocol
from stratagem.published.tree import screen
from stratagem.strategies.stratified_protocol import StratifiedProtocol


def tree_encoding(
    domain_size: int,
    epsilon: float,
    branching: int = 4,
    encoding: str = "optimised",
    levels: ArrayLike | None = None,
) -> StratifiedProtocol:
    """Draw a level of a B-ary tree over the domain, report the user's node there by an encoding.

    Levels as in `hierarchical`. The estimate is the least-squares one with the root fixed to the number of
    users, so that every node is the sum of its children (constrained inference).

    Args:
        domain_size: number n of user types.
        epsilon: the budget.
        branching: B, from 2.
        encoding: "optimised" (OUE), "symmetric" (SUE) or "hashing" (OLH).
        levels: probabilities of the levels, leaves first, with sum 1; all equal by default.

    Guarantee:
        epsilon-LDP: that of `partition_protocol`.

    Raises:
        ValueError: as `hierarchical`.

    Reference:
        Cormode, Kulkarni, Srivastava, "Answering range queries under local differential privacy", PVLDB
        2019, sections 4.4 and 4.5; Hay et al., PVLDB 2010, for the least squares.
    """
    partitions, shares = node_partitions(domain_size, branching, levels)
    return partition_protocol(partitions, shares, epsilon, encoding)


def _candidates(setting: Setting, epsilon: float) -> Candidates:
    n = setting.domain_size
    if n > LARGE:
        return
    screened = screen(setting.gram, epsilon, 1, ENCODINGS)
    for words, trees in zip(("equal levels", "optimal levels"), screened, strict=True):
        for tree in trees:
            protocol = tree_encoding(n, epsilon, tree.branching, tree.oracle, tree.shares)
            yield f"branching {tree.branching}, {tree.oracle}, {words}", protocol


TREE_ENCODING = Baseline(
    "tree-encoding",
    "a random level of a tree over the domain, as noisy bits or a noisy hash",
    "@cormode2019answering (TreeOUE, TreeOLH with consistency)",
    _candidates,
    slow=True,
)
