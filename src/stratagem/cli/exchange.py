"""The commands `export` and `import`: a saved strategy in another format, a matrix from elsewhere as a mechanism."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from stratagem.cli.collect import not_protected
from stratagem.cli.command import options
from stratagem.cli.layout import check_values_kept, read_values
from stratagem.cli.option import (
    DOMAIN,
    EPSILON,
    FORCE,
    JSON,
    PRIOR,
    QUESTIONS,
    STRATEGY_FILE,
    QueryOptions,
    ValueOptions,
    check_free,
    in_words,
    read_prior,
    who_asks,
)
from stratagem.cli.output import write, write_result
from stratagem.cli.request import read_described

if TYPE_CHECKING:
    from stratagem.mechanism.matrix_import import MatrixImport
    from stratagem.mechanism.mechanism import Mechanism


@options
class PageOptions:
    """The page of a folder for a web server."""

    web: Annotated[
        Path | None,
        Option(
            help="A folder for a web server: a form that asks one person, its client, and the mechanism file. With "
            "--submit it sends the report; --demo writes a page that shows the mechanism instead."
        ),
    ] = None
    question: Annotated[str, Option(help="With --web: the question that the form asks.")] = ""
    questions: QUESTIONS = None
    submit: Annotated[
        str,
        Option(
            metavar="URL",
            help="With --web: the form sends its report there, an https address of `stratagem collect`.",
        ),
    ] = ""
    demo: Annotated[
        bool,
        Option(
            "--demo",
            help="With --web: a page to try the mechanism out and to see the chances; it sends nothing.",
        ),
    ] = False
    at_most: Annotated[
        float | None, Option(help="With --web: refuse a mechanism of more epsilon; 10 if not given.")
    ] = None

    def check(self, out: Path | None) -> None:
        """Refuse a page beside a file, and what only a page has without one."""
        if (out is None) == (self.web is None):
            raise ValueError("export writes one thing at a time: give -o FILE or --web FOLDER")
        if self.demo and self.submit:
            raise ValueError(
                "--demo and --submit were given, but a demo sends nothing: leave one of them out"
            )
        options = (
            ("--question", self.question, "asks one"),
            ("--questions", self.questions, "asks any"),
            ("--submit", self.submit, "sends anything"),
            ("--demo", self.demo, "is one"),
            ("--at-most", self.at_most is not None, "has a client"),
        )
        for option, given, does in options:
            if given and self.web is None:
                raise ValueError(
                    f"{option} was given, but only the page of --web {does}: add --web FOLDER, or leave it out"
                )

    def write(self, folder: Path, mechanism: Mechanism, file: Path, *, force: bool) -> None:
        """Write the page of a mechanism from a file, and say what the folder holds."""
        from stratagem.mechanism.webpage import BUNDLE, check_submit, page_files, write_web_client

        asked, question, about = in_words(mechanism, file, self.questions, self.question)
        asked = asked if self.at_most is None else asked.accepting(self.at_most)
        files = page_files(asked, question, check_submit(self.submit), demo=self.demo, about=about)
        for name, content in files.items():
            if (held := folder / name).is_file() and held.read_bytes() != content:
                check_free(held, force=force)
        write_web_client(folder, asked, question, self.submit, demo=self.demo, about=who_asks(about))
        sends = f"to {self.submit}" if self.submit else "nothing yet"
        page = "a demo" if self.demo else f"a form that sends {sends}"
        write(f"{folder} holds {page}: serve the folder over https or from localhost")
        write(f"Risks: {not_protected(folder / BUNDLE)}")
        if not (self.demo or self.submit):
            write(
                "To collect, add --submit URL, or run `stratagem collect`, which serves the form by itself."
            )


def export(
    *,
    file: STRATEGY_FILE,
    out: Annotated[
        Path | None,
        Option(
            "-o",
            "--out",
            help="The suffix decides: .npz (doubles), .csv, .mat or .parquet (the matrix), or .ldp.json "
            "(whole numbers, for clients).",
        ),
    ] = None,
    page: PageOptions,
    values: ValueOptions,
    force: FORCE = False,
) -> None:
    """Write a saved mechanism in another format; from .npz to .ldp.json it becomes exact and is checked so."""
    from stratagem.math.number import count_text
    from stratagem.mechanism.export.saved import read_saved, to_mechanism, write_saved
    from stratagem.workloads.serial import over

    page.check(out)
    check_free(out, force=force)
    saved = read_saved(file)
    if values:
        if saved.bundled is not None:
            raise ValueError(
                f"--edges, --labels or --unit were given, but {file} already says what its values are: export the .npz"
            )
        domain = read_values(saved.workload.domain, values)
        if page.web is None:
            check_values_kept(out, values)
        saved = to_mechanism(replace(saved, workload=over(saved.workload, domain.attributes)))
    if page.web is not None:
        page.write(page.web, to_mechanism(saved), file, force=force)
        return
    assert out is not None
    write_saved(out, saved)
    write(
        f"{out} holds a mechanism of {saved.strategy.outputs} possible reports x "
        f"{count_text(saved.strategy.domain_size)} values"
    )


def conversion(path: Path) -> str:
    """Return the advice that makes a bundle of a file of numbers: it names the command to type."""
    from stratagem.io.npz import array_names
    from stratagem.mechanism.export.saved import KEYS

    given, made = shlex.quote(str(path)), shlex.quote(f"{path.stem}.ldp.json")
    saved = False
    with suppress(OSError, ValueError):  # no archive holds no arrays
        saved = set(KEYS) <= set(array_names(path))
    if saved:
        return f"stratagem export {given} -o {made} makes one of it"
    asked = "--workload NAME --domain SIZES --epsilon EPSILON"
    return f"stratagem import {given} {asked} -o {made} makes one of a matrix of probabilities"


@options
class MatrixOptions:
    """What the numbers of a matrix are, and what becomes of them."""

    variable: Annotated[str | None, Option(help="The array of an .npz or .mat file.")] = None
    transposed: Annotated[bool, Option("--transposed", help="Rows are values, columns reports.")] = False
    repair: Annotated[bool, Option("--repair", help="Move what breaks epsilon to the private side.")] = False


@dataclass(frozen=True, kw_only=True)
class Imported:
    """A foreign matrix as a mechanism, and the file that it was written to."""

    adopted: MatrixImport
    workload: str
    epsilon: float
    out: Path

    def record(self) -> dict[str, Any]:
        """Return the mechanism as named values."""
        adopted, mechanism = self.adopted, self.adopted.mechanism
        return {
            "workload": self.workload,
            "domain": str(mechanism.domain),
            "epsilon": self.epsilon,
            "epsilon_realised": mechanism.strategy.epsilon,
            "outputs": mechanism.outputs,
            "objective": adopted.objective,
            "lower_bound": adopted.bounds.best,
            "bound": adopted.bounds.name,
            "gap": adopted.gap if math.isfinite(adopted.gap) else None,
            "moved": adopted.moved,
            "loss": adopted.loss if math.isfinite(adopted.loss) else None,
            "mechanism": mechanism.identifier,
            "file": str(self.out),
        }

    def sentences(self) -> Iterator[str]:
        """Yield what was written, how good it is, and what a repair did."""
        from stratagem.math.number import number_text, upper_percent

        adopted, mechanism = self.adopted, self.adopted.mechanism
        yield (
            f"{self.out} holds a mechanism of {mechanism.outputs} possible reports x {mechanism.domain.size} "
            f"values, in whole numbers that hold epsilon {self.epsilon:g} exactly"
        )
        yield (
            f"objective {number_text(adopted.objective)}, {upper_percent(adopted.gap)} above the proven "
            f"minimum of {number_text(adopted.bounds.best)} (the {adopted.bounds.name} bound)"
        )
        if adopted.moved:
            cost = f"{100 * adopted.loss:+.3g} %" if math.isfinite(adopted.loss) else "not comparable"
            yield (
                f"repaired: at most {100 * adopted.moved:.3g} % of the people of a value report otherwise; "
                f"objective {cost}"
            )


def import_matrix(
    *,
    matrix: Annotated[Path, Argument(metavar="MATRIX", help="A .npy, .npz, .csv, .mat or .parquet file.")],
    workload: Annotated[str, Option(help="What is asked, as in `stratagem optimise`.")],
    epsilon: EPSILON,
    out: Annotated[Path, Option("-o", "--out", help="The mechanism file (bundle) to write, .ldp.json.")],
    domain: DOMAIN = None,
    queries: QueryOptions,
    values: ValueOptions,
    foreign: MatrixOptions,
    prior: PRIOR = None,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Check a matrix of probabilities made elsewhere (reports x values), say how good it is, and save the mechanism.

    Without --domain, --edges and --labels the values are as many as the matrix has.
    """
    from stratagem.io.toml import naming
    from stratagem.mechanism.matrix_import import import_matrix
    from stratagem.mechanism.matrix_input import read_probabilities
    from stratagem.mechanism.mechanism import SUFFIX
    from stratagem.workloads.given import leaves_domain

    check_free(out, (SUFFIX,), force=force)
    given = read_probabilities(matrix, foreign.variable)
    if domain is None and not (values.edges or values.labels) and given.ndim == 2 and leaves_domain(workload):
        domain = str(given.shape[0 if foreign.transposed else 1])
    asked = read_described(workload, domain, queries, values)
    options: dict[str, Any] = {"name": workload, "prior": read_prior(prior, asked)}
    with naming(str(matrix)):
        options |= {"transposed": foreign.transposed, "repair": foreign.repair}
        adopted = import_matrix(given, asked, epsilon, **options)
    adopted.mechanism.save(out, overwrite=True)
    write_result(Imported(adopted=adopted, workload=workload, epsilon=epsilon, out=out), json=json)
