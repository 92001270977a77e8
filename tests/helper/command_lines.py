"""Random command lines: plausible and hostile words for every argument and option that the commands declare."""

import random
import shutil
from pathlib import Path
from typing import Any

import typer

from mechanisms import mechanism
from stratagem.cli import app

PEOPLE = "name,age,sex,delay\n" + "".join(
    f"p{k},{k % 5},{'fm'[k % 2]},{k * 7 % 40 - 5.5}\n" for k in range(60)
)
DIRTY = 'q,,x,nan\nr,-1,"f\n'
WORKLOADS = [
    "histogram",
    "prefix",
    "all-range",
    "total",
    "parity",
    "marginals",
    "all-marginals",
    "short-ranges",
    "prfix",
    "W.npy",
    "W.csv",
    "prior.csv",
    "own.toml",
    "lies.npy",
    "deep.toml",
]
SAVED = ["two-level.ldp.json", "labels.ldp.json", "edges.ldp.json", "several-attributes.ldp.json", "s.npz"]
SAVED += ["hostile.ldp.json", "lies.npz"]
TABLES = ["people.csv", "dirty.csv", "people.parquet", "nul.csv", "ends.csv", "huge.csv"]
BROKEN = ["noise", "empty", "cut", "folder", "absent"]
SUFFIXES = [
    ".npz",
    ".npy",
    ".csv",
    ".mat",
    ".parquet",
    ".ldp.json",
    ".json",
    ".jsonl",
    ".toml",
    ".count.json",
]
HOSTILE = [
    "",
    " ",
    "-",
    "--",
    "nan",
    "inf",
    "-inf",
    "-1",
    "0",
    "1e400",
    "1e-320",
    "½",
    "☂",
    "a=b",
    "=",
    ",",
    ":",
]
HOSTILE += [
    "9" * 30,
    "0x10",
    "1_0",
    "../..",
    "\x00",
    "'\"",
    "null",
    "[]",
    "{}",
    "True",
    "None",
    "%s",
    "\udcff",
]
NUMBERS = ["1", "2", "3", "0.5", "7", "100"]
COLUMNS = ["age", "sex", "delay", "age=age", "sex=sex", "value=age", "nobody", "a=age", "b=sex"]
EDGES = [
    "0:5:1",
    "-10:40:10",
    "age=0:5:1",
    "delay=-10:40:10",
    "5:0:1",
    "0:1:0",
    "0,1,1",
    "0,0.5,2",
    "0:1e9:1e-9",
    "-1e308:1e308:1e307",
    "0:1_0:1",
]
LABELS = ["f,m", "sex=f,m", "f,f", "f", "age=0,1,2,3,4", ",,", "a,b,c"]
POOLS: dict[str, list[str]] = {
    "epsilon": ["1", "0.5", "2", "0.1", "8", "300", "1e-9", "1e-300", "1_0"],
    "domain": [
        "4",
        "5",
        "2^2",
        "a=2,b=2",
        "age=3,sex=2",
        "1",
        "0",
        "2^0",
        "4,4",
        "a=2,a=2",
        "2^64",
        "2^1100",
        "2^2000",
        f"a={2**53},b={2**53}",
        "a=",
        "1e3",
    ],
    "order": ["1", "2", "3"],
    "width": ["1", "2", "99"],
    "objective": ["average", "worst-case", "worst-query", "best"],
    "prior": ["prior.csv", "W.npy", "people.csv"],
    "solver": [
        "auto",
        "quick",
        "certified",
        "projected-gradient",
        "orbit",
        "junta",
        "highs",
        "clarabel",
        "Auto",
    ],
    "outputs": ["8", "1", "4"],
    "restarts": ["1", "2"],
    "gap": ["0.5", "0.05", "1"],
    "seconds": ["0.2", "0.1", "1e-9"],
    "data": TABLES,
    "column": COLUMNS,
    "edges": EDGES,
    "labels": LABELS,
    "over": [
        "epsilon=0.5,1",
        "domain=2,3",
        "epsilon=",
        "domain=2^2,4",
        "delta=1",
        "epsilon=1,1",
        "epsilon=nan",
    ],
    "plot": ["out.svg", "out.png", "out.txt", "absent/out.svg"],
    "out": [f"out{suffix}" for suffix in [*SUFFIXES, ".html", ".txt"]] + ["people.csv", "absent/a.npz"],
    "synthetic": ["out.csv", "out.parquet", "people.csv", "absent/out.csv"],
    "web": ["web", "folder", "people.csv"],
    "state": ["s.reports.duckdb", "people.csv", "folder", "noise.reports.duckdb"],
    "anonymous": ["refuse", "count", "name"],
    "neighbours": ["add-remove", "replace"],
    "delta": ["1e-6", "0.1", "1"],
    "alpha": ["0.9", "10/11", "1/0", "1", "0", "1e-9", "2"],
    "loss": ["L0", "L1", "L2", "L0,2", "W.csv", "L9"],
    "properties": ["RH", "WH,RM,CM", "all", "S,F", "XX"],
    "size": ["1", "2", "5", "8"],
    "reach": ["1", "2", "9"],
    "column_ratio": ["0.5", "1", "9/10"],
    "mechanism": [
        "randomised-response",
        "hadamard-response",
        "hierarchical",
        "local-hashing",
        "subset-selection",
        "none",
    ],
    "client": ["python", "node,node", "perl", "python,"],
    "samples": ["100", "200"],
    "types": ["2", "3"],
    "false_alarm": ["1e-6", "0.1", "1"],
    "repetitions": ["2", "3"],
    "queries": ["1", "3"],
    "seed": ["0", "7"],
    "quantile": ["0.5", "1", "0"],
    "top": ["1", "5"],
    "method": ["norm-sub", "raw", "wnnls", "ibu", "nnls"],
    "confidence": ["0.95", "0.5", "1"],
    "value": ["1", "f", "ja", "0.25", '{"age": 20, "sex": "f"}', "[1", '{"age": 1}'],
    "variable": ["strategy", "W"],
    "matrix": ["W.npy", "s.npz", "Q.csv", "people.csv", "people.parquet", "lies.npy", "lies.npz"],
    "file": SAVED,
    "reports": ["reports.jsonl", "-", "people.csv"],
    "counts": ["counts.json", "-", "reports.jsonl"],
    "workload": WORKLOADS,
}
"""Words that may make sense, by the name of a parameter; one that is not here gets numbers."""
LIMITS = {"seconds": "0.2", "samples": "100", "repetitions": "2", "size": "3", "types": "2"}
"""What keeps a command short, given wherever the draw left it out."""


THEMES: list[dict[str, list[str]]] = [
    {"workload": ["prefix", "all-range", "histogram", "parity"], "domain": ["4", "5"], "order": ["1"]},
    {
        "workload": ["marginals", "all-marginals", "parity"],
        "domain": ["2^2", "a=2,b=2", "age=3,sex=2"],
        "order": ["1", "2"],
    },
    {
        "workload": ["prefix", "short-ranges", "own.toml"],
        "domain": ["5"],
        "column": ["age", "value=age"],
        "edges": EDGES[:1],
    },
    {"workload": ["histogram"], "column": ["sex"], "labels": LABELS[:2], "data": ["people.csv", "dirty.csv"]},
    {"workload": ["marginals"], "domain": ["2^100", "2^1100"], "order": ["1", "2"], "prior": []},
    {"workload": ["all-marginals", "total"], "domain": ["2^2000", f"a={2**53},b={2**53}"], "prior": []},
    {
        "file": ["hostile.ldp.json"],
        "reports": ["hostile.jsonl"],
        "counts": ["hostile.json"],
        "column": ["sex"],
    },
    {
        "file": ["edges.ldp.json"],
        "reports": ["reports.jsonl"],
        "counts": ["counts.json"],
        "column": ["delay"],
    },
    {"file": ["labels.ldp.json"], "column": ["sex"], "value": ["ja", "nein"]},
    {"file": ["two-level.ldp.json", "s.npz"], "column": ["age"], "value": ["3"], "data": ["people.csv"]},
    {
        "matrix": ["Q.csv"],
        "workload": ["histogram"],
        "domain": ["3"],
        "epsilon": ["2"],
        "out": ["out.ldp.json"],
    },
    {
        "matrix": ["s.npz"],
        "workload": ["prefix"],
        "domain": ["12"],
        "variable": ["strategy"],
        "out": ["out.ldp.json"],
    },
]
"""Words that go together, so that many command lines come as far as the work itself."""
USUAL = ("domain", "data", "column", "alpha")
"""Options that most commands need."""


ODD = "\x1b[2J\x1b]0;owned\x07\r\nstratagem: all is well\u202e\u2066\u200f\x9b1m\u2028\x00"
"""A text that would clear a terminal, name its window, begin lines and turn the direction of others."""


def hostile_mechanism() -> Any:
    """Return a mechanism whose name and labels would command a terminal."""
    import stratagem as st
    from stratagem.mechanism.mechanism import Mechanism

    labels = st.labels(*(f"{ODD}{k}" for k in range(3)))
    strategy = st.published.randomised_response(3, 1.5)
    return Mechanism.of(strategy, st.histogram(labels), 1.5, name=f"name {ODD}")


UNEVENTFUL = {"rejected": {}, "duplicates": 0, "conflicting": 0, "anonymous": 0}
"""What else a tally holds."""


def make_folder(folder: Path, noise: random.Random) -> None:
    """Fill a folder with a small file of every kind that a command reads, whole and broken."""
    import duckdb
    import numpy as np

    from stratagem.mechanism.export.saved import to_stored, write_saved

    for case in ("two-level", "labels", "edges", "several-attributes"):
        mechanism(case).save(folder / f"{case}.ldp.json")
    write_saved(folder / "s.npz", to_stored(mechanism("two-level")))
    np.save(folder / "W.npy", np.tri(4))
    np.savetxt(folder / "W.csv", np.eye(4), delimiter=",")
    np.savetxt(folder / "Q.csv", mechanism("labels").strategy.dense().matrix, delimiter=",")
    (folder / "prior.csv").write_text("1,2,3,4\n")
    (folder / "own.toml").write_text('title = "own"\nfamily = "prefix"\n')
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "dirty.csv").write_text(PEOPLE + DIRTY)
    (folder / "nul.csv").write_text(PEOPLE + "q\0,1,f,2\n")
    (folder / "ends.csv").write_bytes(PEOPLE.replace("1\n", "1\r\n").encode())
    (folder / "huge.csv").write_text(PEOPLE + "q,1,f,1e308\nr,2,m,-1e308\n")
    duckdb.sql(f"COPY (FROM read_csv('{folder}/people.csv')) TO '{folder}/people.parquet' (FORMAT parquet)")
    _reports(folder)
    _hostile(folder)
    for suffix in SUFFIXES:
        (folder / f"noise{suffix}").write_bytes(noise.randbytes(200))
        (folder / f"empty{suffix}").write_bytes(b"")
        (folder / f"folder{suffix}").mkdir()
    (folder / "noise.reports.duckdb").write_bytes(noise.randbytes(200))
    for name in ("two-level.ldp.json", "s.npz", "W.npy", "people.parquet", "reports.jsonl", "own.toml"):
        whole = (folder / name).read_bytes()
        (folder / f"cut.{name.split('.', 1)[1]}").write_bytes(whole[: noise.randrange(len(whole))])


def _reports(folder: Path) -> None:
    _told(folder, "reports.jsonl", "counts.json", mechanism("edges"), 0.25)


def _hostile(folder: Path) -> None:
    """Write what lies of its size, nests too deeply, or would command a terminal."""
    from hostile_matrices import HEADERS, npz

    (folder / "lies.npy").write_bytes(HEADERS["beyond 64 bits"])
    (folder / "lies.npz").write_bytes(npz(HEADERS["nothing, very often"]))
    (folder / "deep.toml").write_text(f"title = {'[' * 2000}{']' * 2000}\n")
    made = hostile_mechanism()
    made.save(folder / "hostile.ldp.json")
    _told(folder, "hostile.jsonl", "hostile.json", made, made.bundle["domain"][0]["labels"][0])


def _told(folder: Path, reports: str, tallied: str, found: Any, value: Any) -> None:
    import json

    lines = [json.dumps(found.client.randomise(value)) for _ in range(20)]
    (folder / reports).write_text("\n".join(lines) + "\nnonsense\n")
    counts = [0] * found.outputs
    for line in lines:
        counts[json.loads(line)["output"]] += 1
    tally = {"mechanism": found.identifier, "reports": 20, "counts": counts, **UNEVENTFUL}
    (folder / tallied).write_text(json.dumps(tally))


COMMANDS: dict[str, Any] = dict(sorted(typer.main.get_command(app).commands.items()))  # type: ignore[attr-defined]


def command_lines(seed: int, name: str, count: int) -> list[list[str]]:
    """Return that many command lines of a command."""
    draw = random.Random(f"{seed} {name}")
    return [[name, *_words(COMMANDS[name], draw)] for _ in range(count)]


def _words(command: Any, draw: random.Random) -> list[str]:
    options, arguments, given = [], [], set()
    theme = POOLS | draw.choice(THEMES) if draw.random() < 0.8 else POOLS
    hostile, extra = draw.choice((0.0, 0.0, 0.05, 0.3)), draw.choice((0.0, 0.1, 0.3))
    for parameter in command.params:
        if draw.random() > (0.98 if parameter.required else 0.9 if parameter.name in USUAL else extra):
            continue
        given.add(parameter.name)
        for _ in range(draw.choice((1, 1, 2)) if parameter.multiple else 1):
            word = _word(theme.get(parameter.name, NUMBERS), hostile, draw)
            if parameter.param_type_name == "argument":
                arguments.append(word)
            elif parameter.is_flag:
                options.append(parameter.opts[-1])
            else:
                options += draw.choice(([f"{parameter.opts[-1]}={word}"], [parameter.opts[-1], word]))
    known = {parameter.name: parameter.opts[-1] for parameter in command.params}
    for name in LIMITS.keys() & known.keys() - given:
        options.append(f"{known[name]}={LIMITS[name]}")
    if draw.random() < 0.02:
        options.append(draw.choice(("--nothing", "-q", "extra")))
    if draw.random() < 0.03:
        options *= 2
    return [*arguments, *options] if draw.random() < 0.5 else [*options, *arguments]


def _word(usual: list[str], hostile: float, draw: random.Random) -> str:
    if draw.random() < hostile:
        broken = f"{draw.choice(BROKEN)}{draw.choice(SUFFIXES)}"
        return draw.choice((broken, draw.choice(HOSTILE)))
    return draw.choice(usual or HOSTILE)


def copied(folder: Path, target: Path) -> Path:
    """Return a fresh copy of the folder, so that no command sees what another one wrote."""
    shutil.rmtree(target, ignore_errors=True)
    return shutil.copytree(folder, target)
