"""A command as typer takes it: groups of options spread out, in a help with headings, within the seconds given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, wraps
from inspect import Parameter, Signature, signature
from typing import Any, TypeVar, dataclass_transform, get_type_hints

import typer.core

from stratagem.io.numeral import parse_number
from stratagem.math.deadline import granted, within

LONGEST = 60.0
"""Seconds that a command which searches may take where none are given."""
GROUPS = {
    "Problem": ("workload", "epsilon", "domain", "order", "width", "objective", "prior", "over"),
    "Constraint": ("guess_cap", "shuffled_by", "central_delta", "local", "permanent", "averaged", "step"),
    "Data": (
        "data",
        "column",
        "table",
        "edges",
        "labels",
        "unit",
        "invalid",
        "missing",
        "mapping",
        "as_is",
        "decimal",
        "clip",
    ),
    "Search": ("solver", "outputs", "restarts", "seed", "gap", "seconds", "quick"),
    "Output": ("out", "plot", "page", "web", "show_all", "force", "json", "help"),
}
"""The options that every command lists under one heading, by name; its own stand first, under Options."""


Group = TypeVar("Group")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def options(group: type[Group]) -> type[Group]:
    """Make a class a group of options, each field one with its help; what it need not do is not made."""
    return dataclass(frozen=True, kw_only=True, eq=False, repr=False)(group)


@cache
def _options(kind: Any) -> dict[str, Any]:
    """Return the types of a command's parameters, or of a group's fields, by name."""
    found = get_type_hints(kind, include_extras=True)
    return {name: hint for name, hint in found.items() if name != "return"}


def _parameters(kind: Any) -> Iterator[Parameter]:
    """Yield the parameters of a command or the fields of a group, those of groups one by one in place of them."""
    own = signature(kind).parameters
    for name, hint in _options(kind).items():
        if is_dataclass(hint):
            yield from _parameters(hint)
        else:
            yield own[name].replace(annotation=hint, kind=Parameter.KEYWORD_ONLY)


def _made(kind: Any, given: dict[str, Any]) -> Any:
    """Return what a command or a group makes of options, groups filled with their own."""
    own = {
        name: _made(hint, given) if is_dataclass(hint) else given[name]
        for name, hint in _options(kind).items()
    }
    return kind(**own)


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command as typer takes it, which knows no groups: every option of its groups beside its own."""

    @wraps(command)
    def run(**given: Any) -> None:
        _made(command, given)

    parameters = list(_parameters(command))
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    vars(run)["__signature__"] = Signature(parameters)
    return run


def chosen(group: Any) -> Iterator[str]:
    """Yield the names of the options of a group that differ from what they are where nobody gives them."""
    for one in fields(group):
        value = getattr(group, one.name)
        if is_dataclass(value):
            yield from chosen(value)
        elif value != one.default:
            yield one.name


COMMANDS = {
    "Design": ("plan", "optimise", "compare", "bound", "list"),
    "Run": ("export", "collect", "randomise", "aggregate", "estimate"),
    "Check": ("summary", "simulate", "audit", "inspect"),
    "Advanced": ("tune", "import", "rounds", "count", "central"),
}
"""The commands by what they are for."""
ALIASES = {"optimize": "optimise", "randomize": "randomise", "report": "summary"}
"""American spelling, and the former name of a command."""


class GroupedCommands(typer.core.TyperGroup):
    """A group of commands whose help lists them by what they are for, each with its whole first sentence."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a name or of an alias."""
        return super().get_command(ctx, ALIASES.get(cmd_name, cmd_name))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write every group of commands."""
        for title, names in COMMANDS.items():
            texts = (" ".join((self.commands[name].help or "").split()) for name in names)
            first = [text.partition(". ")[0].rstrip(".") for text in texts]
            with formatter.section(title):
                formatter.write_dl(list(zip(names, first, strict=True)))


class GroupedCommand(typer.core.TyperCommand):
    """A command whose help lists its options in `GROUPS` and ends with its epilog, a command line to try.

    An option that may be given once is refused if it is given twice, a number if `parse_number` takes it for none.
    A command with the option --seconds has so many, or `LONGEST`, as its deadline.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the command within its seconds.

        Raises:
            ValueError: for seconds that are no time.
        """
        if "seconds" not in ctx.params:
            return super().invoke(ctx)
        with within(granted(ctx.params["seconds"], LONGEST)):
            return super().invoke(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of a command line."""
        from stratagem.io.toml import naming

        given, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for parameter, times in Counter(order).items():
            if times > 1 and not (parameter.multiple or getattr(parameter, "is_flag", False)):
                raise ValueError(
                    f"{parameter.opts[-1]} was given {times} times, but may be given once: keep one of them"
                )
        rest = super().parse_args(ctx, args)
        for parameter in self.params:
            text, value = given.get(parameter.name or ""), ctx.params.get(parameter.name)
            if isinstance(value, int | float) and text not in (None, True, False):
                with naming(parameter.opts[-1]):
                    parse_number(text)
        return rest

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and every group of options."""
        found: dict[str, list[tuple[str, str]]] = {name: [] for name in ("Arguments", "Options", *GROUPS)}
        group_of = {option: name for name, options in GROUPS.items() for option in options}
        place = {name: k for k, name in enumerate(GROUPS["Data"])}  # several groups of a command hold them
        for parameter in sorted(self.get_params(ctx), key=lambda one: place.get(one.name or "", -1)):
            group = "Arguments" if parameter.param_type_name == "argument" else "Options"
            if record := parameter.get_help_record(ctx):
                found[group_of.get(parameter.name or "", group)].append(record)
        for name, records in found.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the example on one line, so that it can be copied."""
        with formatter.section("Example"):
            formatter.write(f"{'':{formatter.current_indent}}{self.epilog}\n")
