"""The request that `optimise` and `compare` share: what is asked, of which solver, held to which objective."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stratagem.cli.option import (
    DOMAIN,
    EPSILON,
    GAP,
    OBJECTIVE,
    ORDER,
    OUTPUTS,
    PRIOR,
    RESTARTS,
    SECONDS,
    SEED,
    SOLVER,
    WIDTH,
    WORKLOAD,
    read_prior,
    read_workload,
)

if TYPE_CHECKING:
    import numpy as np

    from stratagem.solvers import Auto, Solver
    from stratagem.workloads import Workload


@dataclass(frozen=True, eq=False)
class Request:
    """The arguments of `optimise` and `compare`, read."""

    name: str
    """What the command line called the workload."""
    workload: Workload
    epsilon: float
    solver: Solver | Auto
    objective: str
    prior: np.ndarray | None
    prior_file: Path | None
    order: int | None
    width: int | None

    def elsewhere(self, domain: str) -> Workload:
        """Return the same queries on another domain."""
        return read_workload(self.name, domain, self.order, self.width)


def requesting(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the request's arguments and options before its own, in place of the request."""
    shared = inspect.signature(_request, eval_str=True).parameters
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]

    @wraps(command)
    def run(**given: Any) -> None:
        request = _request(**{name: given.pop(name) for name in shared})
        command(request, **given)

    parameters = [*shared.values(), *own]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    vars(run)["__signature__"] = inspect.Signature(parameters)
    return run


def _request(
    workload: WORKLOAD,
    epsilon: EPSILON,
    domain: DOMAIN = None,
    order: ORDER = None,
    width: WIDTH = None,
    objective: OBJECTIVE = "average",
    prior: PRIOR = None,
    solver: SOLVER = "auto",
    outputs: OUTPUTS = None,
    restarts: RESTARTS = None,
    seed: SEED = None,
    gap: GAP = None,
    seconds: SECONDS = None,
) -> Request:
    """Return the request, refusing what is wrong with it before any work."""
    from stratagem.objective import named_objective
    from stratagem.preset import load_solver
    from stratagem.privacy import check

    check(epsilon)
    asked = read_workload(workload, domain, order, width)
    chosen = load_solver(solver, outputs=outputs, restarts=restarts, seed=seed, gap=gap, max_seconds=seconds)
    belief = read_prior(prior, asked)
    named_objective(objective, asked, belief)
    return Request(workload, asked, epsilon, chosen, objective, belief, prior, order, width)
