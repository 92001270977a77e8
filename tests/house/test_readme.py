"""The README is executed: its Python, its commands, its claims about its own size."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from commands import plain
from stratagem.bounds import lower_bounds
from stratagem.cli import main
from tables import WORKLOADS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)


def test_it_is_short():
    assert len(TEXT.splitlines()) <= 120


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
    setup, own, data, *work, tests = commands()
    environment, install, optimise = setup.split(" && ")
    assert environment == "python3 -m venv .venv"
    assert "pip install" in install
    printed = said(capsys, optimise)
    assert "above the best possible unbiased strategy" in printed
    assert all(
        words in printed for words in ("hierarchical", "can need fewer than", "more: --all shows them")
    )
    Path("people.csv").write_text("name,age\n" + "".join(f"p{k},{k * k % 97}\n" for k in range(500)))
    printed = said(capsys, own)
    assert "500 of 500 rows counted" in printed
    assert "mechanism has an expected error below" in printed
    assert Path(shlex.split(own)[-1]).read_bytes().startswith(b"\x89PNG")
    subprocess.run([sys.executable, *shlex.split(data)[1:]], check=True)
    printed = "".join(said(capsys, command) for command in work)
    assert "336,776 reports of 336,776 rows; as other: dep_delay missing 8,255" in printed
    assert "quantile 0.5: -5 to below 0 minutes" in printed
    assert "delay below -25 minutes" in Path("answers.csv").read_text()
    assert tests.split(" && ")[-1] == ".venv-test/bin/pytest"


def test_the_continuous_integration_runs_the_same_test_command():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "grep -m1 -F '.venv-test/bin/pytest' README.md" in script
    assert sum(".venv-test/bin/pytest" in line for line in TEXT.splitlines()) == 1


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`stratagem (\w+) ", TEXT))))
def test_every_command_it_names_exists(name, capsys):
    with pytest.raises(SystemExit) as stop:
        main([name, "--help"])
    assert stop.value.code == 0
    assert name in capsys.readouterr().out


def test_the_bounds_are_as_much_tighter_as_it_says():
    for make in WORKLOADS.values():
        bounds = lower_bounds(make(64), 1.0)
        assert 6 <= bounds.closed / bounds.svd <= 10


ROW = r"\| `([\w-]+)`, (?:pairs of )?(\d+) (values|bits) \| \+([\d.]+) % \| \+([\d.]+) % \(`([\w-]+)`\) \|"


@pytest.mark.parametrize(("name", "size", "unit", "ours", "theirs", "best"), re.findall(ROW, TEXT))
def test_its_table_is_what_a_comparison_says(name, size, unit, ours, theirs, best):
    import stratagem as st

    workload = st.load(name, domain=int(size) if unit == "values" else f"2^{size}")
    comparison = st.compare(workload, 1.0)
    found, published = comparison.rows[:2]
    assert (found.optimised, published.mechanism) == (True, best)
    over = [100 * (row.objective / comparison.bounds.best - 1) for row in (found, published)]
    assert over == pytest.approx([float(ours), float(theirs)], abs=0.1)


def test_it_has_a_table_and_shows_the_way_within_forty_lines():
    assert len(re.findall(ROW, TEXT)) >= 3
    door = "\n".join(TEXT.splitlines()[:40])
    for words in (
        "pip install",
        "stratagem compare",
        "--data",
        "--plot",
        "(notebooks/)",
        "report",
        "--bibtex",
    ):
        assert words in door


def test_the_default_comes_as_close_as_it_says_and_closer_than_the_published_solver():
    import stratagem as st

    workload = st.prefix(24)
    ours, published = (st.optimise(workload, 1.0, solver=s) for s in (None, st.ProjectedGradient()))
    assert ours.gap < 0.005 < published.gap
