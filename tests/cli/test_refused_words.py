"""Words that a command line may hold but nobody means: refused, each in one sentence that says what helps."""

import shlex
import subprocess
import sys
import typing
from pathlib import Path

import pytest

from command_lines import COMMANDS, NUMBERS, POOLS
from commands import assert_refused, plain, run, run_json
from mechanisms import mechanism
from stratagem.domain.bins import Bins

OPTIONS = [
    (name, parameter)
    for name, command in COMMANDS.items()
    for parameter in command.params
    if parameter.param_type_name == "option" and not parameter.is_flag
]


def labelled(options):
    return [pytest.param(name, one, id=f"{name} {one.opts[-1]}") for name, one in options]


def numeric(name, parameter):
    """Return whether a command takes one number for a parameter, by the annotation of its function."""
    hint = typing.get_type_hints(COMMANDS[name].callback).get(parameter.name)
    return bool({int, float} & {hint, *typing.get_args(hint)})


@pytest.mark.parametrize(("name", "parameter"), labelled([one for one in OPTIONS if not one[1].multiple]))
def test_an_option_that_may_be_given_once_is_not_given_twice(name, parameter):
    """Click keeps the last value and says nothing of the first: people.csv --column age --column region."""
    twice = [parameter.opts[-1], *["1"] * parameter.nargs] * 2
    with pytest.raises(ValueError, match=f"{parameter.opts[-1]} was given 2 times, but may be given once"):
        COMMANDS[name].make_context(name, twice)


def test_options_of_several_values_and_flags_may_be_repeated(capsys):
    assert {one.opts[-1] for _, one in OPTIONS if one.multiple} >= {"--column", "--edges", "--missing"}
    assert run_json(capsys, "bound", "total", "--domain=4", "--epsilon=1", "--json")["best"] > 0


@pytest.mark.parametrize(("name", "parameter"), labelled([one for one in OPTIONS if numeric(*one)]))
def test_numbers_are_written_in_digits_alone(name, parameter):
    """Python reads 1_0 as 10."""
    needed = [
        (POOLS.get(one.name, NUMBERS)[0] if one.param_type_name == "argument" else f"{one.opts[-1]}=1")
        for one in COMMANDS[name].params
        if one.required and one is not parameter
    ]
    COMMANDS[name].make_context(name, [*needed, f"{parameter.opts[-1]}=100"])
    with pytest.raises(ValueError, match="'1_00' is no number: write digits"):
        COMMANDS[name].make_context(name, [*needed, f"{parameter.opts[-1]}=1_00"])


SMALL = ("prefix", "--domain", "4", "--epsilon", "1")
SENTENCES = {
    "a step": (("optimise", "prefix", "--domain=4", "--step=1_0"), "--step is '1_0': give one number"),
    "budgets": (("compare", *SMALL, "--over", "epsilon=1_0"), "'1_0', which is no number"),
    "edges": (("optimise", "prefix", "--edges=0:1_0:1", "--epsilon=1"), "are neither START:STOP:STEP nor"),
    "twice": (("plan", "people.csv", "--column=age", "--users=9", "--users=8"), "--users was given 2 times"),
    "a budget": (("bound", "prefix", "--domain=4", "--epsilon=1_0"), "--epsilon: '1_0' is no number"),
    "digits of another script": (("bound", "prefix", "--domain=4", "--epsilon=\u0661"), "'--epsilon'"),
    "alpha": (("count", "--size=3", "--alpha=1_0/11_0"), "alpha is '1_0/11_0': give a number"),
    "shuffled reports of one value": (
        ("optimise", "histogram", "--domain=1", "--shuffled-by=100", "--epsilon=.1"),
        "the domain has a single value, which everybody knows without a report: give one of at least 2",
    ),
    "caps for one value": (
        ("optimise", "histogram", "--domain=1", "--epsilon=1", "--guess-cap=several"),
        "has a single value",
    ),
    "a cap for one value": (
        ("optimise", "histogram", "--domain=1", "--epsilon=1", "--guess-cap=1"),
        "has a single value",
    ),
    "steps of one value": (("optimise", "histogram", "--domain=1", "--step=.1"), "has a single value"),
    "hardly any central epsilon": (
        ("optimise", "histogram", "--domain=4", "--shuffled-by=100", "--epsilon=1e-300"),
        "epsilon is 1e-300: give a number from 1e-06 to 300",
    ),
    "an endless search": (
        ("optimise", *SMALL, "--seconds=inf"),
        "--seconds is inf: give a finite number, or none for no limit",
    ),
    "an endless search of a solver": (
        ("optimise", *SMALL, "--solver=junta", "--seconds=inf"),
        "--seconds is inf: give a finite number, or none for no limit",
    ),
    "endless bounds": (
        ("bound", *SMALL, "--seconds=inf"),
        "--seconds is inf: give a finite number, or none for no limit",
    ),
    "a NUL byte": (("plan", "nul.csv", "--column=age"), "nul.csv has a NUL byte.*: save it as CSV in UTF-8$"),
    "huge numbers": (
        ("plan", "huge.csv", "--column=age"),
        "column 'age' holds the number 1e308, but bins .* --missing 1e308$",
    ),
    "huge numbers that are few": (
        ("compare", "prefix", "--data=huge.csv", "--column=age", "--epsilon=1"),
        "holds the number 1e308",
    ),
    "line ends": (
        ("plan", "ends.csv", "--column=age"),
        r"ends.csv has line ends of several kinds \(CR LF 50,001, LF 2\): write it with one kind$",
    ),
    "line ends at once": (("plan", "mixed.csv", "--column=age"), "line ends of several kinds"),
    "an order without a workload": (
        ("estimate", "m.ldp.json", "c.json", "--order", "2"),
        "--order was given without --workload",
    ),
    "a width without a workload": (
        ("estimate", "m.ldp.json", "c.json", "--width=2"),
        "--width was given without --workload",
    ),
    "a width with synthetic people alone": (
        ("estimate", "m.ldp.json", "c.json", "--width=2", "--order=1", "--synthetic=p.csv"),
        "--width was given without --workload",
    ),
    "a unit that nothing shows": (
        ("compare", *SMALL, "--unit", "years"),
        "--unit was given, but a comparison",
    ),
    "a unit of edges that nothing shows": (
        ("compare", "prefix", "--epsilon=1", "--edges=age=0:4:1", "--unit=years"),
        "--unit was given, but a comparison",
    ),
    "edges of another attribute": (
        ("optimise", "prefix", "--domain=4", "--edges=age=0:10:2", "--epsilon=1"),
        "--edges age=0:10:2 names no attribute, but the attributes are value: write --edges value=",
    ),
    "a unit of no attribute": (
        ("optimise", "prefix", "--epsilon=1", "--unit=years"),
        "--unit years names no attribute",
    ),
    "labels in several lines": (
        ("plan", "ragged.csv", "--column=a", "--labels=a\nb"),
        "was given as labels, but has several lines",
    ),
    "an empty column": (("plan", "ragged.csv", "--column="), "no column of ragged.csv was named"),
    "one edge": (
        ("optimise", "prefix", "--edges=age=1,other", "--epsilon=1"),
        "the edges 1,other were given, but a bin lies between two",
    ),
    "one edge alone": (("optimise", "prefix", "--edges=age=1", "--epsilon=1"), "lies between two"),
    "other edges on a line": (
        ("optimise", "prefix", "--edges=0:10:5,other", "--step=.1"),
        "the value other has no place on a line",
    ),
    "other labels on a line": (
        ("optimise", "prefix", "--labels=low,high,other", "--step=.1"),
        "the value other has no place on a line",
    ),
    "a bound over domains without a budget": (
        ("bound", "prefix", "--domain=4", "--over=domain=4,5"),
        "needs a workload and --epsilon",
    ),
    "a comparison without a budget": (
        ("compare", "prefix", "--domain=4"),
        "no budget was given: add --epsilon, or --over epsilon=0.5,1,2",
    ),
    "a day that does not exist": (
        ("report", "m.ldp.json", "--date=2026-13-45"),
        "the date is 2026-13-45, which no calendar has: give one such as 2026-11-25",
    ),
    "a sum of texts": (
        ("optimise", "mean", "--labels=drink=tea,coffee", "--epsilon=1"),
        "mean asks about numbers, but the values of drink are texts",
    ),
    "a permanent epsilon of rounded columns": (
        ("inspect", "m.ldp.json", "--memo=2"),
        "states every probability by itself, rounded, but repeated reports need rows of exactly two",
    ),
    "a false-alarm rate": (
        ("audit", "m.ldp.json", "--false-alarm=1", "--samples=100"),
        "the false-alarm rate is 1.0, but must be between 0 and 0.5",
    ),
    "a false-alarm rate that two clients share": (
        ("audit", "m.ldp.json", "--false-alarm=.9", "--samples=100"),
        "the false-alarm rate is 0.9, but must be between 0 and 0.5",
    ),
    "a row too long": (("plan", "ragged.csv", "--column=age"), "cannot be read as CSV"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    found = tmp_path_factory.mktemp("odd")
    rows = "".join(f"{20 + k % 40},1\r\n" for k in range(50_000))
    (found / "nul.csv").write_bytes(b"age,region\n20,a\n3\0,b\n")
    (found / "huge.csv").write_text("age\n20\n1e308\n")
    (found / "ends.csv").write_bytes(f"age,b\r\n{rows}3,4\n5,6\n".encode())
    (found / "mixed.csv").write_bytes(b"age\n" + b"20\n21\r" * 50)
    (found / "ragged.csv").write_text("age,b\n" + "20,1\n" * 5000 + "1,2,3\n")
    mechanism("labels").save(found / "m.ldp.json")
    return found


@pytest.mark.parametrize("name", SENTENCES)
def test_what_is_wrong_is_said_with_what_helps(capsys, monkeypatch, folder, name):
    monkeypatch.chdir(folder)
    assert_refused(capsys, *SENTENCES[name])


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("optimise", "--step=.1"), ("possible reports: ",)),
        (("optimise", "--shuffled-by=1000", "--epsilon=.1", "--seconds=2"), ("possible reports: ",)),
    ],
)
def test_edges_say_what_the_domain_is(capsys, command, words):
    """They did so for optimise alone; others said that no domain was given."""
    name, *rest = command
    status, out, err = run(capsys, name, "prefix", *rest, "--edges=age=0:40:10")
    assert (status, err) == (0, "")
    assert all(word in plain(out) for word in words)


def test_bounds_over_budgets_need_no_other_budget(capsys):
    """The one that --epsilon names would not be used."""
    arguments = ("bound", "prefix", "--domain=4", "--over=epsilon=1,2")
    assert run_json(capsys, *arguments) == run_json(capsys, *arguments, "--epsilon=3")


@pytest.mark.parametrize(
    ("over", "words"),
    [
        (["--domain=4", "--over=epsilon=0.5,1"], "over domain 4, several epsilon,"),
        (["--epsilon=2", "--over=domain=4,5"], "over several domains, epsilon 2,"),
        (["--domain=4", "--epsilon=2"], "over domain 4, epsilon 2,"),
    ],
)
def test_a_comparison_says_along_what_it_went(over, words, capsys):
    status, out, _ = run(capsys, "compare", "prefix", *over, "--solver=quick")
    assert (status, words in plain(out)) == (0, True)


def test_large_edges_have_bins_of_equal_width(capsys):
    found = Bins.parse("-1e308:1e308:1e307").edges
    assert (len(found), found[0], found[10], found[-1]) == (21, "-1e+308", "0", "1e+308")


def test_a_state_in_use_is_waited_for(capsys, folder, tmp_path):
    """Another file would split the collection."""
    state, reports = tmp_path / "s.reports.duckdb", tmp_path / "r.jsonl"
    reports.write_text("")
    holder = (
        "import duckdb, sys\nheld = duckdb.connect(sys.argv[1])\nprint('held', flush=True)\nsys.stdin.read()"
    )
    command = [sys.executable, "-c", holder, str(state)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        words = ("aggregate", folder / "m.ldp.json", reports, "--state", state)
        assert_refused(
            capsys, words, r"\(another command uses it\): wait until that has ended, or end it with Ctrl-C$"
        )
        process.stdin.close()


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "command",
    [
        ("optimise", *SMALL, "--solver=quick", "-o", "out.ldp.json"),
        ("optimise", "prefix", "--domain=64", "--epsilon=1", "--solver=quick", "-o", "out.csv"),
        ("bound", *SMALL, "--over=epsilon=1,2", "--plot", "out.svg"),
        ("count", "--size=20", "--loss=L2", "--properties=WH,CM", "--alpha=.9", "-o", "out.count.json"),
    ],
)
def test_a_full_disk_names_the_file(tmp_path, command):
    words = shlex.join([sys.executable, "-m", "stratagem.cli", *command])
    ended = subprocess.run(
        ["bash", "-c", f"ulimit -f 1; {words}"], cwd=tmp_path, capture_output=True, text=True
    )
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1].startswith(f"stratagem: {command[-1]} cannot be used (")
    assert not [one for one in tmp_path.iterdir() if "out" in one.name]
