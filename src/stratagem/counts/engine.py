"""The solvers of linear programs, through cvxpy."""

from __future__ import annotations

import warnings
from typing import Any, Literal

Engine = Literal["HIGHS", "CLARABEL"]
EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
ATTEMPTS: dict[Engine, list[dict[str, Any]]] = {
    "HIGHS": [
        {"highs_options": {"solver": "ipm", "ipm_iteration_limit": 1000, **EXACT}},
        {"highs_options": {"solver": "simplex", **EXACT}},
        {"highs_options": {"solver": "simplex"}},
    ],
    "CLARABEL": [{"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}, {}],
}
"""Options of each solver, tried in turn until one succeeds. Both HiGHS methods end in a vertex; the
interior-point one is faster, limited to 1000 iterations because it may never end where alpha is tiny."""


def other(engine: Engine) -> Engine:
    """Return the name of the solver that was not named."""
    return "CLARABEL" if engine == "HIGHS" else "HIGHS"


def run(problem: Any, engine: Engine) -> float:
    """Solve a program and return its value.

    Raises:
        RuntimeError: if no attempt succeeds.
    """
    import cvxpy as cp

    reason = "no attempt"
    for options in ATTEMPTS[engine]:
        try:
            with warnings.catch_warnings():
                # what an inaccurate solution costs is measured afterwards
                warnings.filterwarnings("ignore", message="Solution may be inaccurate")
                value = problem.solve(solver=engine, **options)
        except (cp.SolverError, ValueError) as error:
            reason = type(error).__name__
            continue
        if problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
            return float(value)
        reason = problem.status
    raise RuntimeError(f"{engine} failed ({reason}); try solver {other(engine)}, or a budget less extreme.")
