"""A folder of answers: one tidy .csv a question, named after its attributes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path

from stratagem.io.table import write_csv
from stratagem.io.target import check_folder, check_target, written_atomically
from stratagem.report.question import QuestionResult
from stratagem.workloads import Workload
from stratagem.workloads.question import questions

UNSAFE = re.compile(r"[^\w-]+")
"""What in a name of an attribute is no part of a file's name on some system."""
LONGEST = 48
"""Most letters of a file's name that come from attributes: with four bytes a letter all systems take them."""


def answer_files(folder: Path, workload: Workload) -> list[Path]:
    """Return the files for the answers to every question of a workload, such as region-income.csv for a table.

    Where several questions are about the same attributes, the names of all but tables say what is asked, and where two
    names are equal, or differ in case alone, the later ones get numbers.
    """
    asked = questions(workload)
    many = Counter(one.about for one in asked)
    found, taken = list[Path](), set[str]()
    for one in asked:
        names = [UNSAFE.sub("_", workload.domain.names[place]) for place in one.about]
        stem = "-".join(names or ["everybody"])[:LONGEST]
        if many[one.about] > 1 and one.kind != "identity":
            stem = f"{stem}-{UNSAFE.sub('_', one.kind)[:LONGEST]}"
        free = chain([stem], (f"{stem}-{number}" for number in count(2)))
        name = next(name for name in free if name.casefold() not in taken)
        taken.add(name.casefold())
        found.append(folder / f"{name}.csv")
    return found


def write_answers(paths: Sequence[Path], results: Sequence[QuestionResult]) -> None:
    """Write the answers to every question into a file of its own; existing ones are replaced.

    Raises:
        ValueError: for a file that cannot be written, or more than 2^21 answers to one question.
    """
    every = [one.records() for one in results]
    for path, records in zip(paths, every, strict=True):
        check_folder(path.parent).mkdir(exist_ok=True)
        with written_atomically(check_target(path, (".csv",))) as file:
            write_csv(file, records[0], (record.values() for record in records))
