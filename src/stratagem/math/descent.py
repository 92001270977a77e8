"""Descents by L-BFGS-B that end with the deadline."""

from __future__ import annotations

import math
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

    Once no time is left it is the best point that was looked at, if any was.
    `limits` are the least and the largest value of each variable, None for no limit. `options` are those of SciPy:
    `maxcor`, steps that are remembered, `maxfun`, `ftol`, `gtol`.
    """
    time, best = deadline() if time is None else time, OptimizeResult(x=start, fun=math.inf, nit=0)

    def fall(x: np.ndarray) -> tuple[float, np.ndarray]:
        if math.isfinite(best.fun):  # a step may look at several points
            time.ends_descent(x)
        value, slope = function(x)
        if value < best.fun:
            best.x, best.fun = x.copy(), float(value)
        return float(value), np.array(slope)

    asked = {"jac": True, "bounds": limits, "callback": time.ends_descent}
    try:
        return minimize(fall, start, method="L-BFGS-B", options={"maxiter": steps, **options}, **asked)
    except StopIteration:
        return best
