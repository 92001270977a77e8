"""Arguments and options that several commands share, in typed groups, and what each group means."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from stratagem.cli.command import LONGEST, options
from stratagem.cli.interruption import note
from stratagem.math.deadline import deadline

if TYPE_CHECKING:
    import numpy as np

    from stratagem.domain.policy import Policy
    from stratagem.mechanism.mechanism import Mechanism
    from stratagem.solvers import Solver
    from stratagem.workloads import Workload

WORKLOAD = Annotated[
    str, Argument(metavar="WORKLOAD", help="A name of `stratagem list`, or a .toml, .npy or .csv file.")
]
STRATEGY_FILE = Annotated[Path, Argument(metavar="FILE", help="A mechanism saved as .ldp.json or .npz.")]
BUNDLE = Annotated[Path, Argument(metavar="FILE", help="A mechanism, *.ldp.json.")]
COUNTS = Annotated[
    str,
    Argument(
        metavar="COUNTS",
        help="What `stratagem aggregate` wrote, or - for the input; or a file of reports: JSON lines, CSV or Parquet.",
    ),
]
EPSILON = Annotated[float, Option(help="Privacy budget of one person, in nats.")]
WORKLOAD_EPSILON = Annotated[
    float | None,
    Option(help="Privacy budget of one person, in nats; a saved mechanism has its own, as have steps."),
]
DOMAIN = Annotated[str | None, Option(help="64, 2^6 (six binary attributes) or age=100,sex=2.")]
SECONDS = Annotated[
    float | None,
    Option(help=f"Stop after so many seconds, with what is complete; {LONGEST:g} where none are given."),
]
PRIOR = Annotated[Path | None, Option(help="How common each value is: n counts in a .npy or .csv file.")]
EDGES = Annotated[
    list[str] | None,
    Option(
        help="START:STOP:STEP or e0,e1,...: bin k holds e_k <= value < e_(k+1); also 2026-01-01:2027-01-01:1mo, then "
        "[Europe/Berlin] for their zone, and 00:00:24:00:30min. Then ,whole says that numbers are whole, ,other adds "
        "a value for other answers, and a last ,no answer one for none."
    ),
]
LABELS = Annotated[
    list[str] | None,
    Option(
        help="a,b,...: the texts of values 0, 1, ...; then ,other adds a value for other answers, and a last ,no "
        "answer one for none."
    ),
]
QUESTIONS = Annotated[
    Path | None,
    Option(help="A workload file, *.toml: the form asks in the words of its questions, below its title."),
]
SURVEY_FILE = Annotated[
    Path | None,
    Option(
        "--questions",
        help="A survey file, *.toml, that says how columns are read, as `stratagem plan` wrote it.",
    ),
]
AT_MOST = Annotated[float, Option(help="Refuse a mechanism of more epsilon.")]
MISSING = Annotated[
    list[str] | None,
    Option(help="A text that stands for no value, like '?'; of one column COLUMN=999. Repeatable."),
]
DECIMAL = Annotated[
    list[str] | None,
    Option(
        help="What separates decimals, ',' or '.'; the other one separates thousands. Of one column COLUMN=,. "
        "Repeatable."
    ),
]
DATE_FORMAT = Annotated[
    list[str] | None,
    Option(
        help="How dates such as 03/04/2024 are meant: day-first, month-first or year-first; of one column "
        "COLUMN=day-first. Repeatable."
    ),
]
MAP = Annotated[
    list[str] | None,
    Option(
        "--map",
        help="FROM=TO, such as north=North: a text that stands for another in all columns but those of which it is "
        "a value and the other is none; or a .csv file of two columns. Of one column COLUMN=FROM=TO. Repeatable.",
    ),
]
AS_IS = Annotated[
    bool,
    Option(
        "--as-is",
        help="Tell texts apart that differ in case or Unicode form alone, or that say yes in several ways.",
    ),
]
PLOT = Annotated[Path | None, Option(help="Draw it: an .svg, .png or .pdf file.")]
DETAILS = Annotated[
    bool,
    Option(
        "--details", help="Also the objectives, every lower bound with its meaning, and how the search went."
    ),
]
ALL = Annotated[bool, Option("--all", help="Show every mechanism, not only the best.")]
OUT = Annotated[
    Path | None,
    Option(
        "-o",
        "--out",
        help="Save as .ldp.json (whole numbers, for clients), .npz (doubles) or .csv, .mat, .parquet (the matrix).",
    ),
]
FORCE = Annotated[bool, Option("--force", help="Overwrite files that exist.")]
JSON = Annotated[bool, Option("--json", help="Write one JSON object to standard output.")]


@options
class QueryOptions:
    """What fits a workload of a name to its domain."""

    order: Annotated[int | None, Option(help="Attributes a marginal or parity touches.")] = None
    width: Annotated[int | None, Option(help="Most values a range spans.")] = None

    def read(self) -> dict[str, Any]:
        """Return the order and the width as `load` takes them."""
        return {"order": self.order, "width": self.width}

    def about_numbers(self, name: str, asked: Workload, *, gaps: bool = False) -> Workload:
        """Return the workload; if it asks about numbers and its attribute has bins, about the middles of these.

        With `gaps`, or a value for no answer, that and a value other add nothing to a sum.
        """
        from stratagem.workloads.given import load, takes_numbers

        attribute = asked.domain.attributes[0]
        values = attribute.values
        if values.numbers or not takes_numbers(name):
            return asked
        if values.texts:
            raise ValueError(
                f"{name} asks about numbers, but the values of {attribute.name} are texts: ask for histogram"
            )
        rest = values.outside if gaps or values.no_answer else ()
        numbers = [0.0 if k in rest else values.middle(k) for k in range(values.size)]
        middles = [number for number in numbers if number is not None]
        if len(middles) < len(numbers):
            none = "dates and times are none" if gaps else "dates, times and the value other are none"
            advice = "ask for prefix or histogram" if gaps else "give edges of numbers alone"
            raise ValueError(f"{name} asks about numbers, but {none}: {advice}")
        return load(name, domain=asked.domain, order=self.order, numbers=middles)


@options
class GoalOptions:
    """The variance that is to be small."""

    objective: Annotated[str, Option(help="average, worst-case or worst-query.")] = "average"
    prior: PRIOR = None

    @property
    def plain(self) -> bool:
        """Whether it is the average over user types that are equally common."""
        return self.prior is None and self.objective == "average"

    def read(self, workload: Workload) -> dict[str, Any]:
        """Return the objective and the prior as searches and bounds take them."""
        return {"objective": self.objective, "prior": read_prior(self.prior, workload)}


@options
class SearchOptions:
    """Which solver searches, and how far."""

    solver: Annotated[str, Option(help="A solver of `stratagem list`.")] = "auto"
    outputs: Annotated[int | None, Option(min=1, help="Possible reports at most.")] = None
    restarts: Annotated[int | None, Option(min=1, help="Starts in all.")] = None
    seed: Annotated[int | None, Option(min=0, help="Makes the run repeatable.")] = None
    gap: Annotated[float | None, Option(help="Stop once this close to the bound, 0.01 for 1 %.")] = None
    seconds: SECONDS = None

    def read(self) -> Solver:
        """Return the solver, which ends with the command's seconds."""
        from stratagem.study.preset import limited, solver_of

        given = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "solver"}
        return limited(solver_of(self.solver, **given), deadline().seconds)


@options
class ValueOptions:
    """What the values of attributes are."""

    edges: EDGES = None
    labels: LABELS = None
    unit: Annotated[
        list[str] | None,
        Option(
            help="What numbers are measured in, such as minutes; with several attributes ATTRIBUTE=minutes, repeated."
        ),
    ] = None

    def __bool__(self) -> bool:
        """Return whether any was given."""
        return bool(self.edges or self.labels or self.unit)


@options
class ReadingOptions:
    """How the values of a file are read."""

    invalid: Annotated[
        str,
        Option(
            help="What becomes of values that are outside the domain, or missing where no value stands for no answer: "
            "fail counts and refuses them, drop leaves their rows out, other reports the attribute's value other."
        ),
    ] = "fail"
    missing: MISSING = None
    mapping: MAP = None
    decimal: DECIMAL = None
    date_format: DATE_FORMAT = None
    clip: Annotated[
        bool, Option("--clip", help="Count numbers, dates and times beyond the edges in the nearest bin.")
    ] = False

    def policy(self, data: Path | None, *, as_is: bool | None = None) -> Policy:
        """Return what becomes of values outside the domain; without a file nothing may be said of it.

        `as_is` is None for a command that has no such option.
        """
        from stratagem.domain.file import read_texts
        from stratagem.domain.policy import STRICT, Policy

        texts = {name: getattr(self, name) for name in ("missing", "mapping", "decimal", "date_format")}
        own = {"invalid": self.invalid, "clip": self.clip, "as_is": bool(as_is)}
        policy = Policy(**{**own, **read_texts(data, texts)})
        if data is None and policy != STRICT:
            own = "" if as_is is None else "--as-is, "
            raise ValueError(
                f"--invalid, --missing, --map, {own}--decimal, --date-format and --clip say how a file is read, but "
                "none was given: add --data and --column"
            )
        return policy


@options
class FileOptions:
    """A file of people's values."""

    data: Annotated[Path | None, Option(metavar="DATA", help="A CSV (with a header) or Parquet file.")] = None
    column: Annotated[
        list[str] | None,
        Option(help="The column to read; with several attributes ATTRIBUTE=COLUMN, repeated."),
    ] = None
    reading: ReadingOptions


def read_prior(path: Path | None, workload: Workload) -> np.ndarray | None:
    """Return the prior that a file holds as one row or one column, None without a file.

    Raises:
        ValueError: for a file that holds no prior over the user types of the workload.
    """
    from stratagem.io.toml import naming
    from stratagem.math.privacy import check_prior

    if path is None:
        return None
    numbers = read_row(path)
    with naming(str(path)):
        return check_prior(numbers, workload.domain_size)


def read_row(path: Path) -> np.ndarray:
    """Return what a file holds: one row or one column as a flat array, anything else as it is.

    Raises:
        ValueError: for a file that holds no matrix.
    """
    from stratagem.workloads.given import read_matrix

    numbers = read_matrix(path)
    return numbers.ravel() if numbers.size == max(numbers.shape, default=0) else numbers


def in_words(
    mechanism: Mechanism, file: Path, path: Path | None, question: str
) -> tuple[Mechanism, str, str]:
    """Return the mechanism of a file in the words of a workload file, the question or its title, and who asks.

    Raises:
        ValueError: for words about other attributes, or about other values of one.
    """
    if path is None:
        return mechanism, question, ""
    from stratagem.workloads.given import load, read_entry
    from stratagem.workloads.serial import over

    stated = {one.name: one for one in load(path).domain.attributes}
    words = {name: one.question for name, one in stated.items() if one.question}
    if not words:
        note(f'{path} states no question yet: write question = "..." below [attributes.NAME]')
    if foreign := sorted(words.keys() - {*mechanism.domain.names}):
        known = ", ".join(mechanism.domain.names)
        raise ValueError(f"{path} asks for {foreign[0]}, but the mechanism for {known}: name these")
    both = [(one, stated.get(one.name, one)) for one in mechanism.attributes]
    if changed := [
        one.name for one, own in both if (one.size, one.values.entry()) != (own.size, own.values.entry())
    ]:
        again = f"stratagem plan {shlex.quote(str(path))} -o {shlex.quote(str(file))} --force"
        raise ValueError(
            f"{path} asks for other values of {', '.join(changed)} than {file}: plan it again with {again}, or take "
            "the file that it was planned from"
        )
    asked = [replace(one, question=words.get(one.name, "")) for one in mechanism.attributes]
    entry = read_entry(path, str(path))
    return replace(mechanism, workload=over(mechanism.workload, asked)), question or entry.title, entry.about


def who_asks(about: str) -> str:
    """Return what the form says of those who ask; that of the example is noted, as people would read it."""
    from stratagem.workloads.survey import EXAMPLE

    if " ".join(about.split()) == EXAMPLE:
        note("about is still the example of the survey file: write who asks")
    return about


def stated_words(workload: str | None) -> tuple[str, str]:
    """Return the title that a file of queries states and what it is about; empty texts of what is no such file."""
    from stratagem.workloads.given import read_entry

    path = Path(workload or "")
    found = read_entry(path, str(path)) if path.suffix.lower() == ".toml" else None
    return (found.title, found.about) if found else ("", "")


def check_free(path: Path | None, suffixes: Sequence[str] = (), *, force: bool) -> None:
    """Refuse a path that cannot be written, with another suffix, or a file that nobody gave up, before the work."""
    from stratagem.io.target import check_target

    if path is not None and suffixes:
        check_target(path, tuple(suffixes))
    if path is not None and path.is_file() and not force:
        raise ValueError(f"{path} exists: name another file, or give --force")


def check_plot(path: Path | None, *, force: bool) -> None:
    """Refuse a plot that could not be drawn or would overwrite a file, before the work.

    Raises:
        ValueError: for a path that cannot be written or exists, or without matplotlib.
    """
    if path is None:
        return
    from stratagem.report.plots import SUFFIXES, check_matplotlib

    check_free(path, SUFFIXES, force=force)
    check_matplotlib()
