"""The request that commands share: what is asked, of which solver, held to which objective; or a saved strategy."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stratagem.cli.layout import Layout, derive, named_columns, read_described, read_policy, read_sources
from stratagem.cli.option import (
    AS_IS,
    CLIP,
    COLUMN,
    DATA,
    DECIMAL,
    DOMAIN,
    EDGES,
    EPSILON,
    GAP,
    INVALID,
    LABELS,
    MAP,
    MISSING,
    OBJECTIVE,
    ORDER,
    OUTPUTS,
    PRIOR,
    RESTARTS,
    SECONDS,
    SEED,
    SOLVER,
    UNIT,
    WIDTH,
    WORKLOAD,
    WORKLOAD_EPSILON,
    WORKLOAD_OR_FILE,
    read_prior,
    read_workload,
)
from stratagem.io.literal import refuse_bare
from stratagem.io.numeral import parse_number
from stratagem.math.deadline import deadline

if TYPE_CHECKING:
    import numpy as np

    from stratagem.domain.columns import Data
    from stratagem.problem import Problem
    from stratagem.solvers import Solver
    from stratagem.workloads import Workload


@dataclass(frozen=True, eq=False)
class Request:
    """The arguments that say what is asked, read."""

    name: str
    """What the command line called the workload."""
    workload: Workload
    budget: float | None
    """The epsilon given; None where steps decide it."""
    problem: Problem | None
    """The problem without a constraint; None where steps decide its epsilon."""
    solver: Solver
    objective: str
    prior: np.ndarray | None
    prior_file: Path | None
    order: int | None
    width: int | None
    layout: Layout | None
    """The domain as edges, labels and columns describe it; None where it was named."""
    users: Data | None
    """The users of the file that was given."""

    @property
    def epsilon(self) -> float:
        """The epsilon, where the command needs one."""
        assert self.budget is not None, "the option is required"
        return self.budget

    def elsewhere(self, domain: str) -> Workload:
        """Return the same queries on another domain."""
        return read_workload(self.name, domain, self.order, self.width)


@dataclass(frozen=True)
class Saved:
    """A saved strategy in place of a request."""

    file: Path
    objective: str
    judged: bool
    """Whether the objective was named."""


SUFFIXES = (".json", ".npz", ".mat", ".parquet")
"""What the names of files end in that hold a strategy, never queries."""


ASKED = ("objective", "seconds")
"""The options that a saved strategy does not answer itself."""
OF_DATA = ("data", "column", "invalid", "missing", "mapping", "as_is", "decimal", "clip")
"""The options that concern a file of values."""


def requesting(
    command: Callable[..., None], *, data: bool = False, steps: bool = False
) -> Callable[..., None]:
    """Return the command with the request's arguments and options before its own, in place of the request.

    Those that name data are among them where the command asks for `data`; with `steps` it needs no epsilon.
    """
    shared = dict(inspect.signature(_request, eval_str=True).parameters)
    if not steps:
        shared["epsilon"] = shared["epsilon"].replace(annotation=EPSILON, default=inspect.Parameter.empty)
    return _asking(command, shared if data else _without_data(shared), _request)


def requesting_or_saved(command: Callable[..., None]) -> Callable[..., None]:
    """Return the same for a command that takes a file of a strategy in place of a workload as well."""
    shared = _without_data(inspect.signature(_request, eval_str=True).parameters)
    shared["workload"] = shared["workload"].replace(annotation=WORKLOAD_OR_FILE)
    return _asking(command, shared, _request_or_saved)


def _without_data(parameters: Mapping[str, inspect.Parameter]) -> dict[str, inspect.Parameter]:
    return {name: one for name, one in parameters.items() if name not in OF_DATA}


def _asking(
    command: Callable[..., None],
    shared: Mapping[str, inspect.Parameter],
    read: Callable[..., Request | Saved],
) -> Callable[..., None]:
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]

    @wraps(command)
    def run(**given: Any) -> None:
        axis, _, places = (given.get("over") or "").partition("=")
        if axis == "domain" and "domain" in shared and given["domain"] is None:
            given["domain"] = places.split(",")[0]  # any of them: each is asked about in place of it
        asked = read(**{name: given.pop(name) for name in shared})
        with _on_one_core(asked):
            command(asked, **given)

    parameters = [*shared.values(), *own]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    vars(run)["__signature__"] = inspect.Signature(parameters)
    return run


def _on_one_core(asked: Request | Saved) -> AbstractContextManager[object]:
    """Return the context of a command: as its searches, what comes after them takes one core on small domains."""
    from stratagem.math.computing import on_one_core

    return on_one_core(asked.workload.domain_size) if isinstance(asked, Request) else nullcontext()


def saved_alone(workload: str, given: Iterable[str]) -> Path | None:
    """Return the file if a strategy is saved in it, None for a workload; .csv and .npy files hold queries."""
    if not workload.lower().endswith(SUFFIXES):
        return None
    for name in given:
        raise ValueError(
            f"--{name} was given with {workload}, which holds a strategy that is already made: leave it out"
        )
    return Path(workload)


def _request_or_saved(workload: str, epsilon: float | None, **others: Any) -> Request | Saved:
    """Return what a file of a strategy is asked for, or the request of a workload."""
    given = [name for name, value in (others | {"epsilon": epsilon}).items() if value != DEFAULTS[name]]
    if (file := saved_alone(workload, (name for name in given if name not in ASKED))) is not None:
        return Saved(file, others["objective"], "objective" in given)
    if epsilon is None:
        refuse_bare(workload, "a saved strategy (.ldp.json or .npz), or queries with --epsilon,")
        raise ValueError(f"{workload} was given without a privacy budget: add one, for example --epsilon 1")
    return _request(workload, epsilon, **others)


def _request(
    workload: WORKLOAD,
    epsilon: WORKLOAD_EPSILON = None,
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
    data: DATA = None,
    column: COLUMN = None,
    edges: EDGES = None,
    labels: LABELS = None,
    unit: UNIT = None,
    invalid: INVALID = "fail",
    missing: MISSING = None,
    mapping: MAP = None,
    as_is: AS_IS = False,
    decimal: DECIMAL = None,
    clip: CLIP = False,
) -> Request:
    """Return the request, refusing what is wrong with it before any work."""
    from stratagem.domain.columns import read
    from stratagem.domain.policy import FAIL, OTHER
    from stratagem.math.privacy import check
    from stratagem.problem import problem_of
    from stratagem.study.preset import limited, solver_of
    from stratagem.workloads.given import check_order, leaves_domain

    if epsilon is not None:
        check(epsilon)
    if (data is None) != (not column):
        raise ValueError(
            "--data and --column belong together, but only one was given: name a file and its column"
        )
    policy = read_policy(data, invalid, missing, clip, decimal, mapping, as_is)
    described = (
        derive(edges, labels, data, column, unit, policy)
        if domain is None and leaves_domain(workload)
        else None
    )
    if described is not None:
        check_order(workload, (one for one in described.domain.attributes if one.name in described.found))
    asked = read_described(workload, domain, order, width, edges, labels, unit, described)
    chosen = solver_of(solver, gap=gap, seconds=seconds, outputs=outputs, restarts=restarts, seed=seed)
    chosen = limited(chosen, deadline().seconds)
    belief = read_prior(prior, asked)
    problem = None if epsilon is None else problem_of(asked, epsilon, objective, belief)
    users = None
    if data is not None and column is not None:
        columns = named_columns(column) if described else column
        if described and len(described.found) == len(asked.domain.names) and invalid == FAIL:
            policy = replace(
                policy, invalid=OTHER
            )  # which the values that were found have where a row needs it
        users = read(data, asked.domain, read_sources(asked.domain, columns), policy)
    return Request(
        workload, asked, epsilon, problem, chosen, objective, belief, prior, order, width, described, users
    )


DEFAULTS = {name: one.default for name, one in inspect.signature(_request).parameters.items()} | {
    "epsilon": None
}


AXES = ("epsilon", "domain")
OVER = Annotated[
    str | None,
    typer.Option(help="epsilon=0.5,1,2 or domain=16,32,64: once for each, in place of the one given."),
]


def read_over(
    over: str, workload: Workload, epsilon: float, elsewhere: Callable[[str], Workload]
) -> tuple[Workload | list[Workload], float | list[float]]:
    """Return the workload and budget of a command, one of them replaced by the several that --over names.

    `elsewhere` reads a domain and returns the same queries there.
    """
    axis, _, places = over.partition("=")
    if axis not in AXES or not places or "=" in places:
        raise ValueError(
            f"--over {over} was given, but it is epsilon=0.5,1,2 or domain=16,32,64 (or 2^4,2^5,2^6, no names): "
            "write one of these"
        )
    if axis == "epsilon":
        return workload, [_number(text) for text in places.split(",")]
    return [elsewhere(text) for text in places.split(",")], epsilon


def read_budgets(over: str) -> list[float]:
    """Return the budgets that --over names, for a command that goes along budgets alone."""
    axis, _, places = over.partition("=")
    if axis != "epsilon" or not places:
        raise ValueError(
            f"--over {over} was given, but a report goes along budgets: write --over epsilon=0.5,1,2"
        )
    return [_number(text) for text in places.split(",")]


def _number(text: str) -> float:
    try:
        return parse_number(text)
    except ValueError:
        raise ValueError(f"--over names the epsilon {text!r}, which is no number: write 0.5") from None
