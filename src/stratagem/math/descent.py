"""Descents by L-BFGS-B that end with the deadline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from stratagem.math.deadline import Deadline, deadline


def descend(
    function: Callable[[np.ndarray], tuple[Any, Any]],
    start: np.ndarray,
    steps: int,
    *,
    limits: Sequence[tuple[float | None, float | None]] | None = None,
    time: Deadline | None = None,
    **options: float,
) -> OptimizeResult:
    """Return what at most so many steps reach from a start (k,), on a function that returns its value and gradient.

    `limits` are the least and the largest value of each variable, None for no limit. `options` are those of SciPy:
    `maxcor`, steps that are remembered, `maxfun`, `ftol`, `gtol`.
    """

    def fall(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = function(x)
        return float(value), np.array(slope)

    ended = (deadline() if time is None else time).ends_descent
    options = {"maxiter": steps, **options}
    return minimize(fall, start, jac=True, method="L-BFGS-B", bounds=limits, callback=ended, options=options)
