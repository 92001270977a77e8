"""The journey of `stratagem optimise`: how many files a reader opens to see where each thing is made.

A stop is a file of the package. For each thing that the command makes, the stops are the files on the stack when it
is made first, from the command on: calls within a file are one stop, and a call back into an earlier one, such as
that of a callback, returns there. A hop is the move from a stop to the next; ways that begin alike share theirs. A
room is a folder, or a loose file, that has a stop.
"""

import sys
from collections import Counter

from house_numbers import PACKAGE

from commands import run
from stratagem.bounds import lower_bounds
from stratagem.cli.output import write_lines
from stratagem.io.target import check_target
from stratagem.mechanism.mechanism import Mechanism
from stratagem.mechanism.rounding import nearest_table
from stratagem.solvers import Auto, Certified
from stratagem.solvers.problem import Average, problem_of
from stratagem.study.comparison import Comparison
from stratagem.study.ranking import rank_all
from stratagem.study.solution import certify
from stratagem.workloads.given import read_entry
from stratagem.workloads.ranges import Prefix

HOPS, ROOMS = 22, 10
"""Most of each: whoever shortens the journey lowers them."""
MADE = {
    "workload": Prefix.__post_init__,
    "problem": problem_of,
    "check of the target": check_target,
    "choice of the solver": Auto.select,
    "ranking of published mechanisms": rank_all,
    "lower bounds": lower_bounds,
    "first state of the search": Certified.begin,
    "certified solution": certify,
    "mechanism": Mechanism.of,
    "whole numbers": nearest_table,
    "text of the bundle": vars(Mechanism)["text"].func,
    "printed lines": write_lines,
    "comparison": Comparison.of,
}
"""What the command makes, and the function that makes it."""
ONCE = (problem_of, Average.__init__)
"""What is made of the same options, and so once."""
READ = (check_target, read_entry)
"""What looks at a file, its `path`, which is looked at once."""


def way(files):
    """Return the stops of a stack, given by the file of each call."""
    stops = []
    for file in files:
        stops = [*stops[: stops.index(file)], file] if file in stops else [*stops, file]
    return tuple(stops)


def hops(ways):
    """Return the moves of several ways, each by the stops up to its end."""
    return {stops[:k] for stops in ways for k in range(2, len(stops) + 1)}


def files_to(frame):
    """Yield the file of each call of the package on the stack that ends at a frame, the last one first."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(f"{PACKAGE}/"):
            yield frame.f_code.co_filename.removeprefix(f"{PACKAGE}/")
        frame = frame.f_back


def test_the_journey_of_optimise_is_short(capsys, tmp_path):
    made = {function.__code__: thing for thing, function in MADE.items()}
    ways, calls, looks, target = {}, Counter(), Counter(), tmp_path / "x.ldp.json"

    def watch(frame, event, _):
        if event == "call":
            calls[frame.f_code] += 1
            if (thing := made.get(frame.f_code)) and thing not in ways:
                ways[thing] = way([*files_to(frame)][::-1])
            if frame.f_code in {function.__code__ for function in READ}:
                looks[frame.f_locals["path"]] += 1

    sys.setprofile(watch)
    try:
        status, _, _ = run(capsys, "optimise", "prefix", "--domain", 64, "--epsilon", 1, "-o", target)
    finally:
        sys.setprofile(None)
    sys.stdout.write("".join(f"{thing}: {' > '.join(stops)}\n" for thing, stops in ways.items()))
    assert (status, ways.keys()) == (0, MADE.keys())
    assert {stops[0] for stops in ways.values()} == {"cli/__init__.py"}
    assert len(hops(ways.values())) <= HOPS
    assert len({stop.split("/")[0] for stops in ways.values() for stop in stops}) <= ROOMS
    assert [calls[function.__code__] for function in ONCE] == [1, 1]
    assert {path.name for path in looks} == {target.name, "prefix.toml", "auto.toml"}
    assert set(looks.values()) == {1}


def test_a_longer_way_has_more_hops_and_a_callback_none():
    """Negative control: made-up stacks."""
    short = way(["cli/a.py", "cli/a.py", "study/b.py"])
    assert hops([short, short]) == {("cli/a.py", "study/b.py")}
    assert len(hops([short, way(["cli/a.py", "cli/layout.py", "io/c.py", "study/b.py"])])) == 4
    assert way(["cli/a.py", "study/b.py", "math/clock.py", "study/b.py", "io/c.py"]) == (*short, "io/c.py")
