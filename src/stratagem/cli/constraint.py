"""The options of `optimise` that say what a strategy must keep to besides its epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from stratagem.io.numeral import parse_number

if TYPE_CHECKING:
    from stratagem.problem import Constraint
    from stratagem.workloads import Workload

SEVERAL = "several"
GUESS_CAP = Annotated[
    str | None,
    typer.Option(
        help="Most often that the best guess of an answer from one report may be right, such as 0.05. To see what caps "
        f"cost: 0.2,0.1,0.05, or {SEVERAL}."
    ),
]
SHUFFLED_BY = Annotated[
    int | None,
    typer.Option(
        help="People whose reports a shuffler mixes: --epsilon is then that of all shuffled reports."
    ),
]
DELTA = Annotated[
    float | None,
    typer.Option(
        "--delta", help="With --shuffled-by: extra probability that epsilon does not cover, 1e-6 by default."
    ),
]
LOCAL = Annotated[
    float | None, typer.Option(help="With --shuffled-by: largest epsilon of one report, 10 by default.")
]
MEMO = Annotated[
    float | None,
    typer.Option(
        "--memo",
        help="Epsilon of any number of reports of one person about one value, above that of one report: the device "
        "keeps its first draw.",
    ),
]
REPORTS = Annotated[
    int | None,
    typer.Option("--reports", help="With --memo: reports of each person that are averaged, 1 by default."),
]
STEP = Annotated[
    str | None,
    typer.Option(
        help="In place of --epsilon: privacy budget between a value and the next, 0.1, or one for each pair of "
        "neighbours, 0.1,0.1,0.5."
    ),
]


def read_constraints(
    guess_cap: str | None = None,
    shuffled_by: int | None = None,
    delta: float | None = None,
    local: float | None = None,
    memo: float | None = None,
    reports: int | None = None,
    step: str | None = None,
) -> list[Constraint]:
    """Return the constraints that options ask for; several caps are as many."""
    from stratagem.problem import GuessCap, Permanent, Shuffled, Steps

    for name, given, owner, other in (
        ("--delta", delta, "--shuffled-by", shuffled_by),
        ("--local", local, "--shuffled-by", shuffled_by),
        ("--reports", reports, "--memo", memo),
    ):
        if given is not None and other is None:
            raise ValueError(f"{name} was given without {owner}, which it belongs to: add that")
    found: list[Constraint] = []
    if guess_cap is not None and guess_cap != SEVERAL:
        found += [GuessCap(cap) for cap in _numbers("--guess-cap", guess_cap)]
    if shuffled_by is not None:
        options = {"delta": delta, "local": local}
        found.append(Shuffled(shuffled_by, **{name: x for name, x in options.items() if x is not None}))
    if memo is not None:
        found.append(Permanent(memo, 1 if reports is None else reports))
    if step is not None:
        steps = _numbers("--step", step)
        found.append(Steps(steps[0] if len(steps) == 1 else steps))
    return found


def check_line(workload: Workload) -> None:
    """Refuse steps between values of which one has no place on a line."""
    for one in workload.domain.attributes:
        if one.size - 1 in one.values.outside:
            raise ValueError(
                f"the value {one.value(one.size - 1)} has no place on a line, whose values are private by distance: "
                "leave it out"
            )


def _numbers(option: str, text: str) -> list[float]:
    """Return the numbers between commas."""
    try:
        return [parse_number(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(
            f"{option} is {text!r}: give one number such as 0.1, or several, 0.1,0.1,0.5"
        ) from None
