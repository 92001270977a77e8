"""The option --over: several budgets or several domains in place of the one given."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from stratagem.workloads import Workload

AXES = ("epsilon", "domain")
OVER = Annotated[
    str | None,
    typer.Option(
        help="epsilon=0.5,1,2 or domain=16,32,64: once for each, in place of the one given.",
        show_default=False,
    ),
]


def read_over(
    over: str, workload: Workload, epsilon: float, elsewhere: Callable[[str], Workload]
) -> tuple[Workload | list[Workload], float | list[float]]:
    """Return the workload and budget of a command, one of them replaced by the several that --over names.

    `elsewhere` reads a domain and returns the same queries there.

    Raises:
        ValueError: for what is no axis with places on it.
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
    """Return the budgets that --over names, for a command that goes along budgets alone.

    Raises:
        ValueError: for another axis, or what is no number.
    """
    axis, _, places = over.partition("=")
    if axis != "epsilon" or not places:
        raise ValueError(
            f"--over {over} was given, but a report goes along budgets: write --over epsilon=0.5,1,2"
        )
    return [_number(text) for text in places.split(",")]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--over names the epsilon {text!r}, which is no number: write 0.5") from None
