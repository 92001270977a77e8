"""Notebooks as they are stored: run once from top to bottom, small, in one style, and nobody's machine in them."""

import ast
import json
import re
from pathlib import Path

import pytest

from face import public_names
from pages import alike

FOLDER = Path(__file__).parents[2] / "notebooks"
LARGEST = 300_000
"""Bytes of a file, pictures included: what a browser shows at once and a diff can carry."""
MACHINE = re.compile(r"/(tmp|home|root|work|usr|var|Users)/|site-packages|ipykernel_")
FORMULAS = {"weighted_bound", "check"}
"""A function that a notebook is about; any other would be plumbing, which belongs into the package."""
PAPER = "stratagem.report.plots.paper"
PUBLIC = {*public_names()}
OPENING = 12
"""Lines of code, up to those that draw it, before the first picture of a notebook."""
FETCHED = re.compile(r"\bpip\b|urlopen|urlretrieve|requests\.get")
"""Code that gets data from a network."""


def text(value: str | list[str]) -> str:
    return value if isinstance(value, str) else "".join(value)


def shown(cell: dict) -> list[str]:
    """Return all that a code cell printed, pictures left out."""
    outputs = cell["outputs"]
    printed = [text(one["text"]) for one in outputs if "text" in one]
    kinds = [(kind, v) for one in outputs for kind, v in sorted(one.get("data", {}).items())]
    return printed + [text(v) for kind, v in kinds if "text" in kind]


def nodes(code: str) -> list[ast.AST]:
    plain = "\n".join(line for line in code.splitlines() if not line.startswith(("%", "!")))
    return list(ast.walk(ast.parse(plain)))


def functions(code: str) -> set[str]:
    return {node.name for node in nodes(code) if isinstance(node, ast.FunctionDef)}


def inner(code: str) -> set[str]:
    """Return what the code takes from the package by another way than `st.` and a public name."""
    texts = {ast.unparse(node) for node in nodes(code) if isinstance(node, ast.Import | ast.ImportFrom)}
    taken = {text for text in texts if re.search(r"\bstratagem\b", text)} - {"import stratagem as st"}
    chains = {ast.unparse(node) for node in nodes(code) if isinstance(node, ast.Attribute)}
    names = {match[1] for chain in chains if (match := re.fullmatch(r"st\.(\w+(?:\.\w+)?)", chain))}
    wings = {name.partition(".")[0] for name in PUBLIC}
    return taken | {one for one in names if not {one, one.partition(".")[0]} & PUBLIC and one not in wings}


def opening(cells: list[dict]) -> float:
    """Return how many lines of code stand before the first picture, those that draw it among them."""
    lines = 0
    for cell in cells:
        lines += sum(bool(line.strip()) for line in text(cell["source"]).splitlines())
        if any(kind.startswith("image/") for one in cell["outputs"] for kind in one.get("data", {})):
            return lines
    return float("inf")


def faults(notebook: dict, *, own_code: bool = False) -> set[str]:
    """Return what is wrong with a stored notebook, in words of the table below."""
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    prose = "\n".join(text(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    source = "\n".join(text(cell["source"]) for cell in code)
    outputs = [one for cell in code for one in cell["outputs"]]
    metadata = notebook["metadata"]
    found = {
        "no outputs": not outputs,
        "not run in order": [cell["execution_count"] for cell in code] != [*range(1, len(code) + 1)],
        "ended in an error": any(one["output_type"] == "error" for one in outputs),
        "warned": any(one.get("name") == "stderr" for one in outputs),
        "one machine's paths": any(MACHINE.search(one) for cell in code for one in shown(cell)),
        "times or versions": any(cell["metadata"] for cell in notebook["cells"])
        or metadata.keys() != {"kernelspec", "language_info"}
        or "version" in metadata["language_info"],
        "not one title": len(re.findall(r"^# ", prose, flags=re.MULTILINE)) != 1
        or not text(notebook["cells"][0]["source"]).startswith("# "),
        "helper code": not own_code and bool(functions(source) - FORMULAS),
        "own style": "pyplot" in source and (PAPER not in source or 'spines[["top"' in source),
        "unfinished": "TODO" in source + prose,
        "no small case": opening(code) > OPENING,
        "internals": bool(inner(source)),
        "data of a network": bool(FETCHED.search(source)),
    }
    return {fault for fault, holds in found.items() if holds}


PATHS = sorted(FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_it_was_stored_as_it_ran(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert faults(notebook, own_code=path.stem == "90-adding-your-own") == set(), "run .ci/notebooks"


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_it_is_small(path):
    assert path.stat().st_size <= LARGEST


def last(notebook: dict) -> dict:
    return next(cell for cell in reversed(notebook["cells"]) if cell["cell_type"] == "code")


def stream(words: str, name: str = "stdout") -> dict:
    return {"output_type": "stream", "name": name, "text": [words]}


SPOILED = {
    "no outputs": lambda n: [cell.update(outputs=[]) for cell in n["cells"] if cell["cell_type"] == "code"],
    "not run in order": lambda n: last(n).update(execution_count=99),
    "ended in an error": lambda n: last(n)["outputs"].append({"output_type": "error"}),
    "warned": lambda n: last(n)["outputs"].append(stream("deprecated", "stderr")),
    "one machine's paths": lambda n: last(n)["outputs"].append(stream("saved as /home/ann/x.png")),
    "times or versions": lambda n: last(n)["metadata"].update(execution={}),
    "not one title": lambda n: n["cells"][0].update(source="# # A title\n#\n# and what was a comment"),
    "helper code": lambda n: last(n)["source"].append("\ndef helper():\n    pass"),
    "own style": lambda n: last(n)["source"].append(
        '\naxes.spines[["top", "right"]].set_visible(False)  # pyplot'
    ),
    "unfinished": lambda n: last(n)["source"].append("  # TODO"),
    "no small case": lambda n: next(c for c in n["cells"] if c["cell_type"] == "code")["source"].extend(
        ["\nW = st.prefix(8)"] * OPENING
    ),
    "internals": lambda n: last(n)["source"].append("\nst.bounds.exact(W, 1.0)"),
    "data of a network": lambda n: last(n)["source"].append("\nsubprocess.run(['pip', 'download'])"),
}


@pytest.mark.parametrize("fault", SPOILED)
def test_what_is_wrong_is_found(fault):
    path = next(path for path in PATHS if path.stem.startswith("80"))
    notebook = json.loads(path.read_text(encoding="utf-8"))
    SPOILED[fault](notebook)
    assert fault in faults(notebook)


@pytest.mark.parametrize(
    ("code", "taken"),
    [
        (
            "import stratagem as st\nst.counts.design(4, 0.8)\nst.Comparison.of(s)\nst.solvers.Status.SETTLED",
            set(),
        ),
        ("from stratagem import counts", {"from stratagem import counts"}),
        ("import stratagem.bounds", {"import stratagem.bounds"}),
        ("st.solvers.problem.problem_of(W, 1.0)", {"solvers.problem"}),
        ("st.report", {"report"}),
    ],
)
def test_what_a_notebook_takes_from_inside_is_found(code, taken):
    assert inner(code) == taken


DRAWN = re.compile(r"\.randomise\(|^randomise |\.audit\(|perf_counter|\bseconds\b", re.MULTILINE)
"""Code whose numbers come from the randomness of the system or from a clock, there and in all that follows."""
CODE = re.compile(r"[0-9a-f]{16,}")
"""What names a mechanism or a report."""


def told(cells: list[dict]) -> list[tuple[list[str], bool]]:
    """Return the words that every code cell printed, and whether its numbers vary from run to run."""
    found, varying = [], False
    for cell in cells:
        varying = varying or bool(DRAWN.search(text(cell["source"])))
        words = [
            word for one in shown(cell) for word in re.sub(r"<[^>]+>", " ", CODE.sub("...", one)).split()
        ]
        found.append(([word for word in words if set(word) - set("─-")], varying))
    return found


def stale(stored: list[dict], now: list[dict], *, numbers: bool = True) -> list[str]:
    """Return how the texts of code cells differ from those of now, but for numbers that vary, or for all."""
    faults = []
    for k, ((before, varying), (after, _)) in enumerate(zip(told(stored), told(now), strict=True)):
        places = zip(before, after, strict=False)
        different = [f"{a} is now {b}" for a, b in places if not same(a, b, varying or not numbers)]
        if different or len(before) != len(after):
            faults.append(f"code cell {k + 1}: {'; '.join(different[:3]) or 'more or fewer words'}")
    return faults


def same(stored: str, now: str, varying: bool) -> bool:
    """Return whether two words are alike; where numbers vary, all that have digits in the same places of a word."""
    if varying:
        stored, now = (re.sub(r"[-+]?[\d,.]*\d", "0", word) for word in (stored, now))
    return alike(stored, now)


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_it_runs_and_shows_what_is_stored(path):
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    stored = [json.loads(json.dumps(cell)) for cell in notebook.cells if cell.cell_type == "code"]
    client = nbclient.NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(FOLDER)}})
    client.execute()
    now = [cell for cell in notebook.cells if cell.cell_type == "code"]
    # searches end by the clock, so that a busy machine finds other digits: a notebook's assertions judge its numbers
    assert stale(stored, now, numbers=False) == [], "run .ci/notebooks"


def cell(source: str, *printed: str) -> dict:
    return {"source": source, "outputs": [stream(one) for one in printed]}


STALE = {
    "another word": ([cell("print(x)", "1 of 680")], [cell("print(x)", "1 in 680")], True),
    "another number": ([cell("print(x)", "1 of 680")], [cell("print(x)", "1 of 720")], True),
    "a number that another processor rounds": ([cell("x", "0.9512 s")], [cell("x", "0.9514 s")], False),
    "a drawn number": (
        [cell("c.randomise(1)", "{'output': 17}")],
        [cell("c.randomise(1)", "{'output': 8}")],
        False,
    ),
    "a number after it": (
        [cell("c.randomise(1)"), cell("x", "4 people")],
        [cell("c.randomise(1)"), cell("x", "5 people")],
        False,
    ),
    "a word after it": (
        [cell("c.randomise(1)"), cell("x", "4 people")],
        [cell("c.randomise(1)"), cell("x", "4 users")],
        True,
    ),
    "a line more": ([cell("x", "a")], [cell("x", "a", "b")], True),
    "another report": ([cell("x", "id " + "ab" * 16)], [cell("x", "id " + "cd" * 16)], False),
}


@pytest.mark.parametrize("name", STALE)
def test_what_is_stale_is_found(name):
    stored, now, found = STALE[name]
    assert bool(stale(stored, now)) == found
