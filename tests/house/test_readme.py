"""The README is executed: its Python, its commands, its claims about its own size."""

import re
import shlex
from pathlib import Path

import pytest

from commands import plain
from stratagem.cli import main

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)


def test_it_is_short():
    assert len(TEXT.splitlines()) <= 80


@pytest.mark.parametrize("code", blocks("python"))
def test_its_python_runs(code):
    exec(compile(code, "README.md", "exec"), {})


def commands() -> list[str]:
    return [line for block in blocks("sh") for line in block.splitlines()]


def said(capsys, command: str) -> str:
    """Run a command of this package and return what it wrote."""
    with pytest.raises(SystemExit) as stop:
        main(shlex.split(command)[1:])
    assert not stop.value.code
    return plain("".join(capsys.readouterr()))


def test_its_commands_run_in_order_and_say_what_it_promises(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    setup, own, ask, results, tests = commands()
    environment, install, optimise = setup.split(" && ")
    assert environment == "python3 -m venv .venv"
    assert "pip install" in install
    printed = said(capsys, optimise)
    assert printed.startswith("Ask 95,096 people: answers are typically off by 1 % of them (standard error).")
    assert all(
        words in printed for words in ("hierarchical (published)", "above the proven minimum", "more: --all")
    )
    people = "".join(f"p{k},{k * k % 97},{'NSE'[k % 3]},{'yn'[k % 7 > 1]}\n" for k in range(500))
    Path("people.csv").write_text(f"name,age,region,smokes\n{people}")
    printed = said(capsys, f"{own} --seconds 10")
    assert printed.startswith("500 people, 3 questions, epsilon 1 for the whole survey.")
    assert "age: 20 bins (round steps that cover all of the numbers): 0:100:5" in " ".join(printed.split())
    assert "name is left out" in printed
    assert all(Path(f"people.{ending}").exists() for ending in ("ldp.json", "html", "toml"))
    assert ask.removeprefix(".venv/bin/") in " ".join(printed.split())
    said(capsys, re.search(r"stratagem randomise .*? -o reports\.jsonl", printed.replace("\\ ", ""))[0])
    said(capsys, "stratagem aggregate people.ldp.json reports.jsonl --state people.reports.duckdb")
    stated = Path("people.toml").read_text("utf-8")  # "Write the questions into that file"
    asked = stated.replace('question = ""', 'question = "How old are you?"', 1)
    Path("people.toml").write_text(asked, "utf-8")
    assert "3 questions, 500 reports" in " ".join(said(capsys, results).split())
    assert Path("people.results.html").exists()
    assert tests.split(" && ")[-1] == ".venv-test/bin/pytest"


def test_the_continuous_integration_runs_the_same_test_command():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "grep -m1 -F '.venv-test/bin/pytest' README.md" in script
    assert sum(".venv-test/bin/pytest" in line for line in TEXT.splitlines()) == 1


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`stratagem (\w+)[ `]", TEXT))))
def test_every_command_it_names_exists(name, capsys):
    with pytest.raises(SystemExit) as stop:
        main([name, "--help"])
    assert stop.value.code == 0
    assert name in capsys.readouterr().out


def test_every_command_is_in_its_table():
    from typer.main import get_command

    from stratagem.cli import app

    assert set(get_command(app).commands) == set(re.findall(r"`stratagem ([a-z]+)", TEXT))


ROW = (
    r"\| `([\w-]+)`, (?:all pairs of )?(\d+) (values|yes/no questions) "
    r"\| ([\d,]+) \| ([\d,]+) \(`([\w-]+)`\) \| ([\d,]+) \|"
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "size", "unit", "ours", "theirs", "best", "least"), re.findall(ROW, TEXT))
def test_its_table_is_what_is_printed(name, size, unit, ours, theirs, best, least):
    import stratagem as st

    solution = st.optimise(st.load(name, domain=int(size) if unit == "values" else f"2^{size}"), 1.0)
    rows = [line.split() for line in str(solution).splitlines()[3:8]]
    found = [row[-2] if len(row) > 3 or row[0] == "Stratagem" else row[-1] for row in rows[2:]]
    assert rows[3][:2] == [best, "(published)"]
    numbers = [int(one.replace(",", "")) for one in found]
    said = [int(one.replace(",", "")) for one in (ours, theirs, least)]
    assert numbers == pytest.approx(said, rel=1e-3)


EPSILONS = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0)
NEAR = 0.0003
"""Gap at which the search for a bound ends."""


def above(workload):
    """Return by how many per cent our and the best published total variance is above the proven minimum, by epsilon.

    The variance that one user adds, in the mean over user types, above `Solution.least_variance`.
    """
    import stratagem as st
    from stratagem.solvers.problem import relative_gap

    ours, published = [], []
    for epsilon in EPSILONS:
        comparison = st.compare(workload, epsilon)
        found = comparison.compared[comparison.rows[0].mechanism]
        best = next(comparison.compared[row.mechanism] for row in comparison.rows if not row.optimised)
        # on a busy machine the comparison's search for a bound ends by its clock; this one has more time
        bounds = st.tighten(comparison.bounds, workload, epsilon, found.objective, gap=NEAR, seconds=300)
        least = found.problem.least(bounds)
        ours.append(100 * relative_gap(found.accuracy.average_variance, least))
        published.append(100 * relative_gap(best.accuracy.average_variance, least))
    return ours, published


@pytest.mark.exhaustive
def test_variances_are_above_the_minimum_as_it_says():
    import stratagem as st

    lines = [above(workload) for workload in (st.prefix(16), st.all_range(16), st.marginals("2^4", 2))]
    assert max(max(ours) for ours, _ in lines) <= 0.25
    assert 25 <= round(max(max(published) for _, published in lines), 1) <= 25.2  # as the text prints it


def test_the_people_needed_are_above_the_minimum_as_it_says():
    import stratagem as st

    said = re.search(r"larger ε: ([\d.]+) % for `prefix` at ε = 4", TEXT)[1]
    printed = re.search(r"People needed ([\d.]+) % above", str(st.optimise(st.prefix(16), 4.0)))[1]
    assert float(printed) == pytest.approx(float(said), abs=0.1)
    people = re.search(r"where ([\d,]+) people are to ask; ([\d,]+) with `--objective worst-case`", TEXT)
    for stated, objective in zip(people.groups(), ("average", "worst-case"), strict=True):
        found = st.optimise(st.prefix(16), 4.0, objective=objective)
        assert found.users_for().root_mean_square == pytest.approx(int(stated.replace(",", "")), rel=1e-3)
    assert found.gap < 1e-3


@pytest.mark.parametrize("name", ["overview.svg", "overview-dark.svg"])
def test_its_picture_shows_the_numbers_of_its_table(name):
    assert f"docs/images/{name}" in TEXT
    shown = re.findall(r">([\d,]+)</text>", (ROOT / "docs" / "images" / name).read_text("utf-8"))
    rows = [row[3:5] + row[6:] for row in re.findall(ROW, TEXT)]
    assert sorted(shown) == sorted(number for row in rows for number in row)


def test_it_has_a_table_a_picture_and_shows_the_way_within_forty_lines():
    assert len(re.findall(ROW, TEXT)) >= 3
    door = "\n".join(TEXT.splitlines()[:40])
    for words in ("pip install", "stratagem optimise", "stratagem plan", "import stratagem as st", "pytest"):
        assert words in door
    assert all((ROOT / path).exists() for path in re.findall(r"\]\(([\w/.-]+)\)", TEXT))


def test_what_is_optimal_already_is_no_worse_published():
    import stratagem as st

    comparison = st.compare(st.histogram(16), 1.0)
    published = next(row for row in comparison.rows if row.mechanism == "subset-selection")
    assert published.objective <= comparison.bounds.best * (1 + 1e-6)


WORDS = {
    "local differential privacy": "each device randomises its own answer",
    "workload": "the statistics",
    "privacy budget": "no *report*",
    "report": "the one random message of a device",
    "mechanism": "which is a rule for randomising answers",
    "unbiased": "which means right on average",
    "proven minimum": "no mechanism with unbiased estimates",
    "mechanism file": "the mechanism in whole numbers",
}


@pytest.mark.parametrize("word", WORDS)
def test_it_defines_a_word_where_it_first_stands(word):
    prose = re.sub(r"^\|.*$", "", TEXT, flags=re.MULTILINE)
    first = re.search(rf"(?i)\b{word}\b", prose)
    sentence = prose[first.start() - 1 : first.end() + 160]
    assert sentence.startswith(f"*{word}*"), sentence
    assert WORDS[word] in prose[max(0, first.start() - 160) : first.end() + 240]


SAID = r"with reports of ([\d,]+), ([\d,]+) and ([\d,]+) people"


@pytest.mark.parametrize("place", range(3))
def test_what_no_estimate_can_do_is_what_the_bound_says(place):
    import stratagem as st

    people = int(re.search(SAID, TEXT)[place + 1].replace(",", ""))
    name, size, unit = re.findall(ROW, TEXT)[place][:3]
    asked = st.load(name, domain=int(size) if unit == "values" else f"2^{size}")
    for many, exceeded in ((people, True), (int(1.005 * people), False)):
        found = st.lower_bounds(asked, 1.0, people=many).any_estimator
        assert (found.typical_error > 0.01) == exceeded
