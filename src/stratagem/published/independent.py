"""InpEM's client: every attribute through randomised response of its own share of the budget."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from stratagem.math.privacy import MINIMUM, check
from stratagem.published.baseline import Baseline, Candidates, Setting
from stratagem.published.randomised_response import truthful
from stratagem.published.table import attribute_sizes
from stratagem.strategies.strategy import MatrixStrategy


def independent_response(sizes: Sequence[int], epsilon: float) -> MatrixStrategy:
    """Report all d attributes, each through randomised response of budget epsilon/d.

    Q is the Kronecker product of the d matrices, n x n; so is its unbiased estimator.

    Guarantee:
        epsilon-LDP: the ratios of the d independent reports multiply to exp(epsilon).

    Raises:
        ValueError: for no attributes, or a share epsilon/d that is out of range.

    Reference:
        Fanti, Pihur, Erlingsson, PETS 2016, as InpEM of Cormode, Kulkarni, Srivastava, SIGMOD 2018.

    Example:
        >>> independent_response((2, 2), 2.0).matrix[0].round(3).tolist()  # 0.731, 0.269 for each bit
        [0.534, 0.197, 0.197, 0.072]
    """
    sizes, epsilon = attribute_sizes(sizes), check(epsilon)
    return MatrixStrategy(reduce(np.kron, (truthful(a, epsilon / len(sizes)) for a in sizes)))


def _candidates(setting: Setting, epsilon: float) -> Candidates:
    if sum(a > 1 for a in setting.sizes) > 1 and epsilon / len(setting.sizes) >= MINIMUM:
        yield "", independent_response(setting.sizes, epsilon)


INDEPENDENT = Baseline(
    "independent-response",
    "every attribute by randomised response with its share of epsilon",
    "@fanti2016building (InpEM)",
    _candidates,
)
