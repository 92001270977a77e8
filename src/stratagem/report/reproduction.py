"""The sections on privacy and on reproduction: what is protected, and how to check it without this package."""

from __future__ import annotations

import json
import math
import platform
from importlib.metadata import version
from importlib.resources import files

from markdown_it import MarkdownIt

from stratagem.auditor.independent_check import recheck
from stratagem.io.table import Table
from stratagem.math.number import above, below, odds, percent, unbroken
from stratagem.math.privacy import posterior, told
from stratagem.mechanism.mechanism import Mechanism
from stratagem.published import BASELINES
from stratagem.report.content import ReportContent
from stratagem.study.literature import publications, readable
from stratagem.workloads.serial import to_data

PRIORS = (0.01, 0.1, 0.5, 0.9)
"""Prior probabilities, before a report, for which the probability after a report is stated."""


def privacy_section(subject: ReportContent) -> dict[str, object]:
    """Return the section on what epsilon means for one person and how it was verified."""
    epsilon = subject.solution.epsilon
    text = (
        "Whoever sees your report, knowing everything else there is to know, can change the odds between any two "
        f"of your possible answers by a factor of at most e^ε = {odds(epsilon)}. "
        f"So {unbroken(told(epsilon, 'your answer', 'your report'))}"
    )
    rows = [
        (percent(prior), below(posterior(prior, -epsilon)), above(posterior(prior, epsilon)))
        for prior in PRIORS
    ]
    headings = ("believed before", "at least, after the report", "at most, after the report")
    table = Table(headings, rows, caption="What one report can change, in the worst case")
    return {"words": text, "table": table, "verified": verified(subject)}


def verified(subject: ReportContent) -> str:
    """Return the sentence on how the budget was verified."""
    if subject.mechanism is not None:
        return _in_whole_numbers(subject.mechanism)
    strategy = subject.solution.strategy
    return (
        f"From the probabilities themselves, in double precision, not from what was asked for: ε = "
        f"{strategy.epsilon:.12g}, at most {subject.solution.epsilon:g}. A mechanism file (.ldp.json) of it holds "
        "whole numbers, and then the check is exact."
    )


def _in_whole_numbers(mechanism: Mechanism) -> str:
    found = recheck(mechanism.bundle)
    assert found.holds, "a mechanism is refused unless it holds"
    ratio = found.high / found.low
    return (
        "Exactly: the probabilities are whole numbers divided by one common total, which every column was found to "
        f"sum to. The two numbers of one report that are furthest apart are {found.high:,} and {found.low:,}: "
        f"their ratio {ratio:.12g} is at most e^ε, compared as fractions without rounding "
        f"(ε = {math.log(ratio):.12g} of {float(mechanism.epsilon):g})."
    )


def threats() -> str:
    """Return the threat model, from the one text that the package has."""
    parser = MarkdownIt("commonmark", {"html": False})
    source = files("stratagem.mechanism").joinpath("threat-model.md").read_text(encoding="utf-8")
    tokens = parser.parse(source)
    start = next(k for k, token in enumerate(tokens) if token.type == "heading_close") + 1
    for token in tokens:
        if token.type.startswith("heading") and token.tag != "h1":
            token.tag = f"h{int(token.tag[1]) + 1}"
    return parser.renderer.render(tokens[start:], parser.options, {})


PACKAGES = ("stratagem", "numpy", "scipy", "jax", "cvxpy")
LONGEST = 20_000
"""Largest number of characters of a workload's specification that are shown."""
DENSE = 1 << 22
"""Largest number of entries of a strategy that the check program contains."""
PUBLISHED = "mckenna2020workload"
"""BibTeX key of the publication that stated the problem."""

WHOLE = """\
import base64, hashlib, json
from decimal import Decimal, ROUND_FLOOR, localcontext
from fractions import Fraction
from pathlib import Path
import numpy as np

bundle = json.loads(Path({file}).read_bytes())
table, epsilon = bundle["table"], Fraction(*map(int, bundle["epsilon"]))
with localcontext(prec=60, rounding=ROUND_FLOOR):
    allowed = Fraction((Decimal(epsilon.numerator) / epsilon.denominator).exp().next_minus())  # < e^ε
"""
SAID = """\
rest = {{key: value for key, value in bundle.items() if key != "sha256"}}
text = json.dumps(rest, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
assert hashlib.sha256(text.encode()).hexdigest() == bundle["sha256"]
print(f"epsilon {{float(epsilon):g}} holds for the file with the hash", bundle["sha256"])
"""
KINDS = {
    "two-level": """\
packed = np.frombuffer(base64.b64decode(table["patterns"]), "u1").reshape(table["outputs"], -1)
inside = np.unpackbits(packed, axis=1, count=table["user_types"]).astype(np.int64)
covered = np.frombuffer(base64.b64decode(table["weights"]), "<u4").astype(np.int64) @ inside
assert len(set(covered)) == 1  # every user type's probabilities sum to the same total
assert 0 < table["low"] <= 2**52 <= table["low"] * allowed  # the two levels of every report
""",
    "columns": """\
shape, kind = (table["outputs"], table["user_types"]), "<u4" if table["bits"] == 32 else "<u8"
numbers = np.frombuffer(base64.b64decode(table["entries"]), kind).reshape(shape).astype(object)
assert set(numbers.sum(axis=0)) == {{2 ** table["bits"]}}  # every user type's probabilities sum to one
assert all(max(row) <= min(row) * allowed for row in numbers)
""",
}
STRANGER = """\
import hashlib, json
from fractions import Fraction
from pathlib import Path
from stratagem.auditor.independent_check import recheck  # shares no code with the client that ships

bundle = json.loads(Path({file}).read_bytes())
assert recheck(bundle).holds
epsilon = Fraction(*map(int, bundle["epsilon"]))
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


def reproduction(subject: ReportContent) -> dict[str, object]:
    """Return the check of the certificate, the queries as data, versions, and references."""
    paper = publications()[PUBLISHED]
    queries = json.dumps(to_data(subject.solution.workload), ensure_ascii=False)
    return {
        "words": _words(subject),
        "program": check(subject),
        "identifier": "" if subject.mechanism is None else subject.mechanism.identifier,
        "queries": queries if len(queries) <= LONGEST else "",
        "versions": ", ".join([*_versions(), f"Python {platform.python_version()}"]),
        "source": f"{paper.short}, {paper.fields['title']}",
        "references": _references(subject),
    }


def _versions() -> list[str]:
    return [f"{name} {version(name)}" for name in PACKAGES]


def check(subject: ReportContent) -> str:
    """Return the text of a program that checks the privacy of the strategy and raises an error if it fails."""
    solution, mechanism = subject.solution, subject.mechanism
    if mechanism is not None:
        file = ascii(subject.file or "mechanism.ldp.json")
        if mechanism.table.kind in KINDS:
            return (WHOLE + KINDS[mechanism.table.kind] + SAID).format(file=file)
        return (STRANGER + SAID).format(file=file)
    strategy = solution.strategy.enumerated
    if strategy is None or strategy.outputs * strategy.domain_size > DENSE:
        return SAVE
    lines = DOUBLES.format(epsilon=solution.epsilon)
    if solution.problem.plain:
        lines += OBJECTIVE.format(objective=solution.objective, bound=solution.lower_bound)
    return lines


def _words(subject: ReportContent) -> str:
    if subject.mechanism is None:
        return "This program checks the mechanism that was found above:"
    return (
        "This program checks the mechanism file in whole numbers, and prints the epsilon that holds. Compare it and "
        "the hash with those of this page:"
    )


def _references(subject: ReportContent) -> Table:
    shown = {row.mechanism for one in subject.line.sweep.comparisons for row in one.rows}
    rows = [(one.name, one.title, readable(one.reference)) for one in BASELINES if one.name in shown]
    return Table(
        ("mechanism", "what it is", "reference"), rows, 3, caption="Published mechanisms on this page"
    )
