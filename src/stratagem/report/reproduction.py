"""How to compute everything again, and how to check the privacy of a strategy without this package."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version

from stratagem.baselines import BASELINES
from stratagem.catalogue.bibliography import publications, readable
from stratagem.io.markup import Markup, details, element, joined, table
from stratagem.report.content import ReportContent
from stratagem.strategies import Strategy
from stratagem.workloads.serial import to_data

PACKAGES = ("stratagem", "numpy", "scipy", "jax", "cvxpy")
LONGEST = 20_000
"""Largest number of characters of a workload's specification that are shown."""
DENSE = 1 << 22
"""Largest number of entries of a strategy that the check program contains."""
PUBLISHED = "mckenna2020workload"
"""BibTeX key of the publication that stated the problem."""

WHOLE = """\
import base64, json
from decimal import Decimal, ROUND_FLOOR, localcontext
from fractions import Fraction
from pathlib import Path
import numpy as np

bundle = json.loads(Path({file}).read_bytes())
table, epsilon = bundle["table"], Fraction(*map(int, bundle["epsilon"]))
with localcontext(prec=60, rounding=ROUND_FLOOR):
    allowed = Fraction((Decimal(epsilon.numerator) / epsilon.denominator).exp().next_minus())  # < e^ε
"""
KINDS = {
    "two-level": """\
packed = np.frombuffer(base64.b64decode(table["patterns"]), "u1").reshape(table["outputs"], -1)
inside = np.unpackbits(packed, axis=1, count=table["user_types"]).astype(np.int64)
covered = np.frombuffer(base64.b64decode(table["weights"]), "<u4").astype(np.int64) @ inside
assert len(set(covered)) == 1  # every user type's probabilities sum to the same total
assert 2**52 <= table["low"] * allowed  # the two levels of every report
""",
    "columns": """\
shape, kind = (table["outputs"], table["user_types"]), "<u4" if table["bits"] == 32 else "<u8"
numbers = np.frombuffer(base64.b64decode(table["entries"]), kind).reshape(shape).astype(object)
assert set(numbers.sum(axis=0)) == {{2 ** table["bits"]}}  # every user type's probabilities sum to one
assert all(max(row) <= min(row) * allowed for row in numbers)
""",
}
STRANGER = """\
import json
from pathlib import Path
from stratagem.auditor.independent_check import recheck  # shares no code with the client that ships

assert recheck(json.loads(Path({file}).read_bytes())).holds
"""
DOUBLES = """\
import numpy as np

Q = solution.strategy.dense().matrix  # Q[y, u] = Pr(report y | user type u)
assert abs(Q.sum(axis=0) - 1).max() < 1e-12
assert np.log(Q.max(axis=1) / Q.min(axis=1)).max() <= {epsilon!r}
"""
OBJECTIVE = """\
M = Q.T / Q.sum(axis=1) @ Q
print(np.trace(np.linalg.pinv(M, rcond=1e-12) @ workload.gram()))  # {objective:.6g}, at least {bound:.6g}
"""
SAVE = """\
solution.mechanism().save("checked.ldp.json", overwrite=True)  # refused unless ε holds in whole numbers
"""


def reproduction(subject: ReportContent) -> Markup:
    """Return the section with commands, versions, the check of the certificate, and references."""
    origin = subject.origin
    parts = []
    if origin.command:
        parts += [element("p", "On the command line:"), _code(origin.command)]
    if origin.python:
        parts += [element("p", "In Python:"), _code(origin.python)]
    if subject.mechanism is not None:
        parts.append(element("p", "SHA-256 of the bundle: ", element("code", subject.mechanism.identifier)))
    specification = json.dumps(to_data(subject.solution.workload), ensure_ascii=False)
    if len(specification) <= LONGEST:
        parts.append(details("The queries as data", _code(specification)))
    paper = publications()[PUBLISHED]
    return joined(
        *parts,
        element("h3", "Check it yourself"),
        element("p", _words(subject)),
        _code(check(subject)),
        element("h3", "Versions"),
        element(
            "p",
            ", ".join(f"{name} {version(name)}" for name in PACKAGES),
            f", Python {platform.python_version()}.",
        ),
        element("h3", "Where it comes from"),
        element("p", f"The problem and the objective: {paper.short}, {paper.fields['title']}."),
        details("References of the published mechanisms", _references(subject)),
    )


def check(subject: ReportContent) -> str:
    """Return the text of a program that checks the privacy of the strategy and raises an error if it fails."""
    solution, mechanism = subject.solution, subject.mechanism
    if mechanism is not None:
        file = ascii(subject.origin.file or "mechanism.ldp.json")
        if mechanism.table.kind in KINDS:
            return (WHOLE + KINDS[mechanism.table.kind]).format(file=file)
        return STRANGER.format(file=file)
    strategy = solution.strategy
    if not isinstance(strategy, Strategy) or strategy.outputs * strategy.domain_size > DENSE:
        return SAVE
    lines = DOUBLES.format(epsilon=solution.epsilon)
    if solution.aim.plain:
        lines += OBJECTIVE.format(objective=solution.objective, bound=solution.lower_bound)
    return lines


def _words(subject: ReportContent) -> str:
    if subject.mechanism is None:
        return "This program checks the strategy that was found above:"
    return "This program checks the bundle in whole numbers, and nothing in it is trusted:"


def _references(subject: ReportContent) -> Markup:
    shown = {row.mechanism for one in subject.line.sweep.comparisons for row in one.rows}
    rows = [(one.name, one.title, readable(one.reference)) for one in BASELINES if one.name in shown]
    return table("Published mechanisms on this page", ("mechanism", "what it is", "reference"), rows, 3)


def _code(program: str) -> Markup:
    return element("pre", element("code", program.rstrip("\n")), tabindex="0")
