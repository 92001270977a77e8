"""Closed forms of the literature for the marginals of binary attributes, for any number of them."""

from math import comb

import numpy as np

from stratagem.math.number import integer


def flat_error(attributes: int, order: int) -> float:
    """Return 2^d: the squared error of a k-way table read from the noisy histogram, in units of Var Lap(1/epsilon).

    All 2^k cells together, when one person is added or removed.

    Raises:
        ValueError: unless 0 <= order <= attributes.
    """
    d, _ = _checked(attributes, order)
    return float(2**d)


def direct_error(attributes: int, order: int) -> float:
    """Return 2^k C(d, k)^2: the same error when each of the C(d, k) tables gets its own part of the budget.

    Raises:
        ValueError: unless 0 <= order <= attributes.
    """
    d, k = _checked(attributes, order)
    return float(2**k * comb(d, k) ** 2)


def fourier_error(attributes: int, order: int) -> float:
    """Return c^2, c = sum_(j <= k) C(d, j): the same error when the c parities of at most k attributes are measured.

    A table is 2^-k times a Hadamard matrix of 2^k parities, which keeps the sum of their variances c^2.

    Raises:
        ValueError: unless 0 <= order <= attributes.

    Reference:
        Barak et al., PODS 2007; not "similar to the direct method", as is sometimes said, but about 2^k better.
    """
    d, k = _checked(attributes, order)
    return float(sum(comb(d, j) for j in range(k + 1)) ** 2)


def view_error(attributes: int, size: int, views: int) -> float:
    """Return w 2^l d (d - 1)/(l (l - 1)): the same error of a pair read from w views of l attributes each.

    A pair lies in w l (l - 1)/(d (d - 1)) views on average, whose tables of it are averaged; that is exact if
    every pair lies in equally many. Least squares are never worse then: they use overlaps in one attribute too.

    Raises:
        ValueError: unless 2 <= size <= attributes and there is a view.

    Reference:
        Qardaji, Yang, Li, "PriView", SIGMOD 2014.
    """
    d, _ = _checked(attributes, 0)
    held = integer(size, "the size of the views", 2, d, "give the attributes of a view")
    w = integer(views, "the number of views", 1, 2**40, "give the views that share the budget")
    return w * 2.0**held * d * (d - 1) / (held * (held - 1))


def _checked(attributes: int, order: int) -> tuple[int, int]:
    d = integer(attributes, "the number of attributes", 0, 500, "give the binary attributes")
    return d, integer(order, "the order", 0, d, "give the attributes of a table")


def readings(tree, V):
    """Return how many of the intervals of a workload read each node (k,) where each sums its fewest nodes.

    Of the intervals asked for, V[a, b] hold all of the node [a, b]. Its count is read by those that do not hold
    its parent too.
    """
    first, last = tree.spans.T
    width = np.array(tree.widths)[tree.levels] * tree.branching
    parent = first // width * width
    below_root = tree.levels == len(tree.widths) - 1
    held = V[parent, np.minimum(parent + width, tree.domain_size) - 1]
    return V[first, last] - np.where(below_root, 0.0, held)
