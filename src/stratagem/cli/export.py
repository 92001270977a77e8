"""The command `export`: a saved strategy in another format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from stratagem.cli.command import options
from stratagem.cli.layout import check_values_kept, read_values
from stratagem.cli.option import FORCE, QUESTIONS, STRATEGY_FILE, ValueOptions, check_free, in_words
from stratagem.cli.output import write

if TYPE_CHECKING:
    from stratagem.mechanism.mechanism import Mechanism


@options
class PageOptions:
    """The page of a folder for a web server."""

    web: Annotated[
        Path | None,
        Option(
            help="A folder for a web server: a form that asks one person, its client, and the bundle. With --submit "
            "it sends the report; --demo writes a page that shows the mechanism instead."
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
        )
        for option, given, does in options:
            if given and self.web is None:
                raise ValueError(
                    f"{option} was given, but only the page of --web {does}: add --web FOLDER, or leave it out"
                )

    def write(self, folder: Path, mechanism: Mechanism, *, force: bool) -> None:
        """Write the page, and say what the folder holds."""
        from stratagem.mechanism.webpage import BUNDLE, write_web_client

        held = folder / BUNDLE
        if held.is_file() and held.read_bytes() != mechanism.text:
            check_free(held, force=force)
        asked, question = in_words(mechanism, self.questions, self.question)
        write_web_client(folder, asked, question, self.submit, demo=self.demo)
        sends = f"to {self.submit}" if self.submit else "nothing yet"
        page = "a demo" if self.demo else f"a form that sends {sends}"
        write(f"{folder} holds {page}: serve the folder over https or from localhost")
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
    """Write a saved strategy in another format; from .npz to .ldp.json it becomes exact and is checked so."""
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
        page.write(page.web, to_mechanism(saved), force=force)
        return
    assert out is not None
    write_saved(out, saved)
    write(
        f"{out} holds the strategy of {saved.strategy.outputs} possible reports x "
        f"{count_text(saved.strategy.domain_size)} user types"
    )
