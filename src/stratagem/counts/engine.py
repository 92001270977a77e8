"""The solvers of linear programs, through cvxpy."""

from __future__ import annotations

from typing import Any, Literal

Engine = Literal["HIGHS", "CLARABEL"]
EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def run(problem: Any, engine: Engine) -> float:
    """Solve a program and return its value."""
    import cvxpy as cp

    try:
        value = problem.solve(solver=engine, **(EXACT if engine == "HIGHS" else {}))
    except cp.SolverError as error:
        raise RuntimeError(f"{engine} failed ({error}); try the other of HIGHS and CLARABEL.") from None
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise RuntimeError(f"{engine} ended with status {problem.status}; try the other of HIGHS, CLARABEL.")
    return float(value)
