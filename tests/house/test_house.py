"""The house itself: lint, types, the root, file sizes, notebooks."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools import need

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LIBRARY = sorted(set((ROOT / "src").rglob("*.py")) - set((ROOT / "src/stratagem/cli").rglob("*.py")))
COMMANDS = "optimise|tune|bound|compare|report|simulate|count|randomise|aggregate|estimate|audit"
TYPED = re.compile(rf"(^|[\s\"'`(])--[a-z]|stratagem ({COMMANDS})\b")
"""An option or a command as a person types it."""
COPIED_OUT = {"client.py"}
"""Files that must hold everything they need, as people copy them out."""
PLACES = {
    ".ci",
    ".github",
    ".gitignore",
    ".pre-commit-config.yaml",
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "docs",
    "mkdocs.yml",
    "notebooks",
    "pyproject.toml",
    "solvers",
    "src",
    "tests",
    "workloads",
}


@pytest.mark.parametrize("command", [["ruff", "check", "."], ["ruff", "format", "--check", "."]])
def test_ruff_is_content(command):
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.exhaustive
def test_pyright_is_content():
    need("node")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_nothing_else_stands_at_the_root():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {line.split("/")[0] for line in tracked.splitlines()} <= PLACES


@pytest.mark.parametrize("path", sorted((ROOT / "src").rglob("*.py")), ids=lambda p: p.name)
def test_a_file_holds_one_idea(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= (900 if path.name in COPIED_OUT else 400)


@pytest.mark.parametrize("path", LIBRARY, ids=lambda p: p.name)
def test_the_library_names_no_option_and_no_command(path):
    """It speaks of arguments, also to people in a notebook; the command line says what to type."""
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    assert not [text for text in texts if TYPED.search(text)]


def test_one_file_alone_looks_at_the_time():
    """Whatever takes long asks the deadline of its call (module `math.deadline`)."""
    clocks = re.compile(r"^\s*(import time|from time import)|\btime\.(monotonic|perf_counter|time)\(", re.M)
    looking = {path.name for path in (ROOT / "src").rglob("*.py") if clocks.search(path.read_text("utf-8"))}
    assert looking == {"deadline.py"}


def test_the_map_for_contributors_names_every_folder():
    lines = (ROOT / "CONTRIBUTING.md").read_text("utf-8").splitlines()
    cells = [line.split("|")[1] for line in lines if line.startswith("| `")]
    named = re.findall(r"`(\w+)`", " ".join(cells))
    folders = [path.parent.name for path in (ROOT / "src/stratagem").glob("*/__init__.py")]
    assert sorted(named) == sorted(folders)


def test_cited_sections_of_the_theory_exist():
    theory = (ROOT / "src/stratagem/theory.md").read_text("utf-8")
    sections = set(re.findall(r"^## (\d+)\.", theory, re.MULTILINE))
    texts = [path.read_text("utf-8") for path in LIBRARY]
    cited = {number for text in texts for number in re.findall(r"theory\.md, section (\d+)", text)}
    assert {"2", "3", "4", "5", "6", "7", "8", "9"} <= cited <= sections


@pytest.mark.parametrize("text", ["add --domain 64", "stratagem optimise finds a better one"])
def test_what_is_typed_is_recognised(text):
    assert TYPED.search(text)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_has_one_title(path):
    """At its top; a second line with one # is a comment that became a heading."""
    cells = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "markdown"]
    lines = [line for cell in cells for line in "".join(cell["source"]).split("\n")]
    titles = [line for line in lines if line == "#" or line.startswith("# ")]
    assert titles == lines[:1]
    assert not titles[0].startswith("# #")


def messages(tree):
    """Yield the text of every message that is raised, braces for what is filled in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            match node.exc.args[0]:
                case ast.Constant(value=str(text)):
                    yield text
                case ast.JoinedStr(values=parts):
                    yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in parts)


NAMES = ("HiGHS", "OpenDP", "Gram")
"""What a message may begin with although it is a capital letter."""


def ill_styled(text) -> bool:
    """Return whether a message begins or ends like a sentence of its own: it stands behind "error: "."""
    return (text[:1].isupper() and not text.startswith(NAMES)) or (text.endswith(".") and text[-2:] != "..")


@pytest.mark.parametrize("path", LIBRARY, ids=lambda p: p.name)
def test_messages_have_one_style(path):
    """What was given, what is allowed, what to do: lower case, and no full stop."""
    tree = ast.parse(path.read_text("utf-8"))
    assert not [text for text in messages(tree) if ill_styled(text)]


def test_a_message_of_another_style_is_found():
    tree = ast.parse('raise ValueError(f"The seed is {seed}.")')
    assert [text for text in messages(tree) if ill_styled(text)]
