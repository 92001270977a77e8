"""The options of `optimise` that say what a strategy must keep to besides its epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Option

from stratagem.cli.command import options
from stratagem.io.numeral import parse_number

if TYPE_CHECKING:
    from stratagem.problem import Constraint
    from stratagem.workloads import Workload

SEVERAL = "several"


@options
class ConstraintOptions:
    """What a strategy must keep to; several caps are as many constraints."""

    guess_cap: Annotated[
        str | None,
        Option(
            help="Most often that the best guess of an answer from one report may be right, such as 0.05. To see what "
            f"caps cost: 0.2,0.1,0.05, or {SEVERAL}."
        ),
    ] = None
    shuffled_by: Annotated[
        int | None,
        Option(help="People whose reports a shuffler mixes: --epsilon is then that of all shuffled reports."),
    ] = None
    central_delta: Annotated[
        float | None,
        Option(
            "--delta",
            help="With --shuffled-by: extra probability that epsilon does not cover, 1e-6 by default.",
        ),
    ] = None
    local: Annotated[
        float | None, Option(help="With --shuffled-by: largest epsilon of one report, 10 by default.")
    ] = None
    permanent: Annotated[
        float | None,
        Option(
            "--memo",
            help="Epsilon of any number of reports of one person about one value, above that of one report: the device "
            "keeps its first draw.",
        ),
    ] = None
    averaged: Annotated[
        int | None,
        Option("--reports", help="With --memo: reports of each person that are averaged, 1 by default."),
    ] = None
    step: Annotated[
        str | None,
        Option(
            help="In place of --epsilon: privacy budget between a value and the next, 0.1, or one for each pair of "
            "neighbours, 0.1,0.1,0.5."
        ),
    ] = None

    @property
    def several(self) -> bool:
        """Whether caps are to be compared."""
        return self.guess_cap is not None and (self.guess_cap == SEVERAL or "," in self.guess_cap)

    @property
    def caps(self) -> list[float]:
        """The caps that are named."""
        named = self.guess_cap is not None and self.guess_cap != SEVERAL
        return _numbers("--guess-cap", self.guess_cap or "") if named else []

    def read(self) -> list[Constraint]:
        """Return the constraints that the options ask for."""
        from stratagem.problem import GuessCap, Permanent, Shuffled, Steps

        for name, given, owner, other in (
            ("--delta", self.central_delta, "--shuffled-by", self.shuffled_by),
            ("--local", self.local, "--shuffled-by", self.shuffled_by),
            ("--reports", self.averaged, "--memo", self.permanent),
        ):
            if given is not None and other is None:
                raise ValueError(f"{name} was given without {owner}, which it belongs to: add that")
        found: list[Constraint] = [GuessCap(cap) for cap in self.caps]
        if self.shuffled_by is not None:
            options = {"delta": self.central_delta, "local": self.local}
            given = {name: x for name, x in options.items() if x is not None}
            found.append(Shuffled(self.shuffled_by, **given))
        if self.permanent is not None:
            found.append(Permanent(self.permanent, 1 if self.averaged is None else self.averaged))
        if self.step is not None:
            steps = _numbers("--step", self.step)
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
