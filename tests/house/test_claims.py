"""What is said of lower bounds: they hold for unbiased estimates, and no text claims more."""

import json
import re
from itertools import chain
from pathlib import Path

import pytest

from stratagem.study.literature import SCOPE

ROOT = Path(__file__).parents[2]
SUFFIXES = {".py", ".js", ".html", ".md", ".toml"}
COUNTS = re.compile(r"/counts/|70-count")
"""The wing of counts, whose optima are over all mechanisms with the properties asked for."""
LIMIT = re.compile(
    r"(?i)\b(?:no|nobody)\b(?: other)?(?: (?:ε|epsilon)-LDP)?(?: (?:mechanism|strategy))?\b[^.;:]{0,90}?"
    r"\b(?:beats?|better|below|smaller|fewer|left of|less than|gain)\b|\bbest possible\b|\bbest there can be\b"
    r"|\bbounds? on (?:the objective of )?every [^.;:]{0,30}\b(?:strategy|mechanism)|\bwhat no (?:mechanism|strategy)\b"
)
"""A sentence about what cannot be."""
ABOUT = re.compile(r"mechanism|strategy|\bbest possible\b|\bbest there\b|nobody can beat")
TRUE = re.compile(r"unbiased|[Nn]o search beat|no mechanism computed here|L\(Q\)|\bL <")
"""Words that say of what, or mathematics that does."""
AROUND = 130


def texts(path: Path) -> list[str]:
    """Return what a file says, strings that follow one another joined."""
    if path.suffix == ".ipynb":
        cells = json.loads(path.read_text("utf-8"))["cells"]
        return [" ".join("".join(cell["source"]).split()) for cell in cells]
    text = path.read_text("utf-8").replace("{SCOPE}", SCOPE)
    return [" ".join(re.sub(r"\"\s*\n\s*(?:\+ )?[fr]?\"|`\s*\n\s*\+ `", "", text).split())]


def overstated(text: str) -> list[str]:
    """Return the sentences that claim a bound on all mechanisms, whatever their estimates."""
    found = []
    for claim in LIMIT.finditer(text):
        near = text[max(0, claim.start() - AROUND) : claim.end() + AROUND]
        if ABOUT.search(claim.group()) and not TRUE.search(near):
            found.append(near)
    return found


PATHS = [
    *(path for path in sorted((ROOT / "src").rglob("*")) if path.suffix in SUFFIXES),
    *sorted((ROOT / "notebooks").glob("*.ipynb")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "workloads").glob("*.toml")),
    *sorted((ROOT / "solvers").glob("*.toml")),
    ROOT / "README.md",
    ROOT / "pyproject.toml",
]


def test_no_text_claims_more_than_the_bounds_say():
    found = {
        path.relative_to(ROOT).as_posix(): claims
        for path in PATHS
        if not COUNTS.search(path.as_posix()) and (claims := overstated(" ".join(texts(path))))
    }
    assert found == {}


@pytest.mark.parametrize(
    "old",
    [
        "objective next to a lower bound that no ε-LDP mechanism can beat. Above that bound",
        "lower bounds on every ε-LDP strategy",
        "no ε-LDP strategy has a smaller objective; objective / bound − 1",
        "least objective first, with the bounds nobody can beat.",
        "No mechanism manages with fewer than 12 users.",
        "No mechanism gets below 2.3.",
        "Objectives at the same ε; no ε-LDP mechanism can lie left of the dashed line.",
        "Optimal within the gap that the search ends at: no epsilon-LDP strategy is better by more.",
        "at most 0.2 % above the best possible strategy, in 2 s",
        "cdf at ε = 1: the best there can be",
        "The command `bound`: what no strategy can beat.",
    ],
)
def test_the_control_what_was_said_before_is_found(old):
    assert overstated(old)


def test_the_scope_is_said_where_bounds_are_shown(capsys):
    from commands import plain, run

    _, out, _ = run(capsys, "bound", "prefix", "--domain", "4", "--epsilon", "1")
    assert SCOPE in plain(out)
    assert SCOPE in " ".join((ROOT / "README.md").read_text("utf-8").split())


OTHERWISE = re.compile(
    r"above (?:the |its |a )?(?:best possible|lower bound|bound\b|least (?:possible|of all))"
    r"|above (?:the|its|a) minimum|above its proven minimum|within [^ \d]+ % of"
)
"""How a gap was worded in other ways."""


@pytest.mark.parametrize(
    "path",
    sorted([ROOT / "README.md", *chain((ROOT / "src").rglob("*.*"), (ROOT / "docs").rglob("*.*"))]),
    ids=str,
)
def test_a_gap_has_one_wording(path):
    """At most x % above the proven minimum."""
    if path.suffix in (".py", ".html", ".js", ".md") and path.name != "theory.md":
        assert not OTHERWISE.search(path.read_text("utf-8"))
