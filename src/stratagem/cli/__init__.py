"""The command line: what a person types, each command in the file of its subject."""

from __future__ import annotations

from stratagem.cli.start import keep_compiled_code  # before what takes long to load

# isort: split
import errno
import os
import sys
from contextlib import suppress
from typing import Annotated

import typer

from stratagem.cli import (
    aggregate,
    audit,
    bound,
    central,
    collect,
    compare,
    estimate,
    exchange,
    inspect,
    layout,
    optimise,
    plan,
    randomise,
    summary,
)
from stratagem.cli.command import GroupedCommand, GroupedCommands, spread
from stratagem.cli.interruption import INTERRUPTED, ended, insisted, interrupted, interruptions, note
from stratagem.cli.output import check_streams, fail, flush, lost, translated, write


def _write_version(asked: bool) -> None:
    if asked:
        from stratagem.io.version import __version__

        write(f"stratagem {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=GroupedCommands,
    help="Design local-differential-privacy mechanisms for any workload, and prove how good they are.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _shared(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_write_version, is_eager=True, help="Say which version runs."),
    ] = False,
) -> None:
    """Take the options that stand before a command."""


COMMANDS = (
    (inspect.listing, "stratagem list"),
    (plan.plan, "stratagem plan people.csv --column age --users 5000"),
    (optimise.optimise, "stratagem optimise prefix --domain 16 --epsilon 1 -o prefix.ldp.json"),
    (optimise.tune, "stratagem tune prefix hierarchical --domain 16 --epsilon 1 -o tree.ldp.json"),
    (bound.bound, "stratagem bound prefix --domain 16 --epsilon 1"),
    (compare.compare, "stratagem compare prefix --domain 16 --epsilon 1 --plot compare.png"),
    (central.central, "stratagem central prefix --domain 16 --epsilon 1 --neighbours replace"),
    (summary.summary, "stratagem summary people-age.ldp.json --users 5000 --title Ages"),
    (inspect.simulate, "stratagem simulate people-age.ldp.json --data people.csv --column age"),
    (inspect.inspect, "stratagem inspect people-age.ldp.json --users 5000"),
    (central.count, "stratagem count --size 10 --alpha 0.9 -o group.count.json"),
    (exchange.export, 'stratagem export people-age.ldp.json --web site --question "Your age?"'),
    (
        exchange.import_matrix,
        "stratagem import matrix.csv --workload prefix --domain 8 --epsilon 1 -o m.ldp.json",
    ),
    (collect.collect, 'stratagem collect people-age.ldp.json --question "Your age?"'),
    (randomise.randomise, "stratagem randomise people-age.ldp.json --value 34 -o reports.jsonl"),
    (aggregate.aggregate, "stratagem aggregate people-age.ldp.json reports.jsonl -o counts.json"),
    (estimate.estimate, "stratagem estimate people-age.ldp.json counts.json --quantile 0.5"),
    (estimate.rounds, "stratagem rounds people-age.ldp.json counts.json -o second.ldp.json"),
    (audit.audit, "stratagem audit people-age.ldp.json"),
)
"""Every command and an example of it; those of one survey use the files that those before it wrote."""
for _command, _example in COMMANDS:
    app.command(_example.split()[1], cls=GroupedCommand, epilog=_example)(spread(_command))


RETIRED = {
    "attack": "inspect FILE says what reports tell, optimise WORKLOAD --guess-cap 0.1 finds mechanisms that tell less",
    "metric": "use optimise WORKLOAD --step 0.1",
    "repeat": "use optimise WORKLOAD --epsilon 0.5 --memo 2, or inspect FILE --memo 2 for a mechanism file",
    "shuffle": "inspect FILE says what shuffled reports tell, and optimise WORKLOAD --epsilon 0.1 --shuffled-by 10000 "
    "finds the best mechanism behind a shuffler",
}
"""Commands that are gone, and what to type instead."""


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit.

    0 done, 1 an audit failed or something given was left out, 2 wrong usage, 130 interrupted, whether or not there
    was a result to keep, 141 nobody read the output to its end.
    """
    keep_compiled_code()
    status: str | int | None = 0
    with interruptions():
        try:
            _run(sys.argv[1:] if arguments is None else arguments)
        except SystemExit as stop:
            status = stop.code
        except RuntimeError:  # DuckDB makes its own of what a signal raises
            if not interrupted() and ended() is None:
                raise
        if number := ended():
            status = 128 + number
        if interrupted():
            # the compiler's threads may still be at work; tearing the interpreter down under them crashes it
            with suppress(OSError, ValueError):
                flush()
                sys.stderr.flush()
            os._exit(INTERRUPTED)
    sys.exit(status)


def _run(arguments: list[str]) -> None:
    """Run one command; every mistake of the user ends in one sentence."""
    try:
        check_streams()
        if strange := [one for one in arguments if "\0" in one]:
            raise ValueError(f"{strange[0]!r} was given, but no argument holds a NUL byte: leave it out")
        if arguments and (instead := RETIRED.get(arguments[0])):
            raise ValueError(f"there is no command {arguments[0]} any more: {instead}")
        status = app(arguments or ["--help"], prog_name="stratagem", standalone_mode=False)
        flush()
    except typer.TyperException as error:
        fail(f"{error.format_message().rstrip('.')}; see stratagem --help")
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise lost(error) from None
        fail(f"{error.filename or 'a file'} cannot be used ({error.strerror or error}): give another path")
    except ValueError as error:
        fail(_sentence(error))
    except OverflowError:
        fail(
            "a number of this problem is above the largest float64 (about 10^308): use fewer attributes or values"
        )
    except MemoryError:
        fail("the problem needs more memory than there is: use fewer attributes, or coarser values")
    except RecursionError:
        fail("something given is nested too deeply: write it more plainly")
    except ArithmeticError as error:
        fail(
            f"the result did not pass its own check ({error}): use a smaller epsilon, or a prior without zeros"
        )
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    if status == INTERRUPTED:  # typer turns some interruptions into this value
        kept = (
            "what was written before is kept, nothing else"
            if insisted()
            else "there was no result to keep yet"
        )
        fail(f"interrupted: {kept}", INTERRUPTED)


def _sentence(error: ValueError) -> str:
    """Return what an error says, with the options that help in place of the library's arguments."""
    from stratagem.collection.reports import AnonymousReportsError
    from stratagem.domain.columns import InvalidValuesError
    from stratagem.io.literal import BareMatrixError

    match error:
        case AnonymousReportsError():
            return f"{error.fact}: {aggregate.ANONYMOUS_ADVICE}"
        case BareMatrixError():
            return f"{error.fact}: {exchange.conversion(error.path)}"
        case InvalidValuesError():
            several = len(error.by_column) > 1
            for line in error.by_column if several else ():
                note(line)
            fact = error.short if several else error.fact
            return f"{translated(fact)}: {layout.invalid_advice(error)}"
    return translated(str(error))
