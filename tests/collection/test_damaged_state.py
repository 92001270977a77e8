"""States that hold what no collection writes are refused, and a first run that is cut off is begun again."""

import subprocess
import sys

import duckdb
import pytest

from report_files import IDENTIFIER, OUTPUTS, write_csv
from stratagem.collection.collection import Collection

NAMES = ("a" * 32, "b" * 32)
ROWS = "holds 1 rows that are neither reports nor rejected: collect its files anew"
TAKEN = "holds other rows than were taken of 1 of its files: collect its files anew"
VIEWS = "holds macros or views, but a collection has tables alone: name another file"
DAMAGES = {
    "a rejected row with an id": (
        f"UPDATE reports SET output = NULL, reason = 'x' WHERE id = '{NAMES[0]}'",
        ROWS,
    ),
    "no rows": ("DELETE FROM reports", TAKEN),
    "a row less": (f"DELETE FROM reports WHERE id = '{NAMES[0]}'", TAKEN),
    "a row more": (f"INSERT INTO reports VALUES (0, '{'c' * 32}', 1, NULL)", TAKEN),
    "rows of no file": (f"INSERT INTO reports VALUES (7, '{'c' * 32}', 1, NULL)", TAKEN),
    "an id less": (f"UPDATE reports SET id = NULL WHERE id = '{NAMES[0]}'", TAKEN),
    "ids in a file without": ("UPDATE files SET size = 10", TAKEN),
    "a macro in place of a function": ("CREATE MACRO count(x) AS 77", VIEWS),
    "a macro in place of what finds macros": (
        "CREATE MACRO duckdb_functions() AS TABLE SELECT false AS internal WHERE false",
        VIEWS,
    ),
    "a view in place of a table": (
        f"""ALTER TABLE reports RENAME TO others;
        CREATE VIEW reports AS SELECT file, '{NAMES[0]}'::UUID AS id, 5::BIGINT AS output, reason FROM others""",
        VIEWS,
    ),
}


@pytest.fixture
def state(tmp_path):
    write_csv(tmp_path / "a.csv", list(zip(NAMES, (1, 2), strict=True)))
    with Collection(tmp_path / "s.duckdb", IDENTIFIER, OUTPUTS) as collection:
        collection.add(tmp_path / "a.csv")
    return tmp_path / "s.duckdb"


def counts(state):
    with Collection(state, IDENTIFIER, OUTPUTS) as collection:
        return collection.tally().counts.tolist()


def test_the_state_as_it_was_is_counted(state):
    """The control."""
    assert counts(state) == [0, 1, 1, 0, 0, 0, 0]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", DAMAGES)
def test_what_no_collection_writes_is_refused(name, state):
    statement, words = DAMAGES[name]
    with duckdb.connect(state) as connection:
        connection.execute(statement)
    with pytest.raises(ValueError, match=rf"s\.duckdb {words}"):
        counts(state)


BEGUN = """
import os, signal, sys
import resource
from pathlib import Path
from stratagem.collection.collection import Collection
from stratagem.io import database

if sys.argv[2] == "full":
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
else:
    database.Path.read_bytes = lambda path: os.kill(os.getpid(), signal.SIGKILL)
Collection(sys.argv[1], "0123456789abcdef" * 4, 7)
"""


@pytest.mark.parametrize("how", ["killed", "full"])
def test_a_first_run_that_is_cut_off_is_begun_again(how, state):
    new = state.with_name("new.duckdb")
    done = subprocess.run([sys.executable, "-c", BEGUN, str(new), how], capture_output=True, text=True)
    assert done.returncode == {"killed": -9, "full": 1}[how]
    if how == "full":
        said = rf"ValueError: {new} cannot be written (IO Error: "
        assert done.stderr.splitlines()[-1].startswith(said)
    with Collection(new, IDENTIFIER, OUTPUTS) as collection:
        assert collection.add(state.with_name("a.csv"))[0].rows == 2
    assert counts(new) == counts(state)
    assert sorted(path.name for path in state.parent.iterdir()) == ["a.csv", "new.duckdb", "s.duckdb"]


def test_an_empty_file_becomes_a_new_state_and_a_run_that_begins_it_is_waited_for(tmp_path):
    fcntl = pytest.importorskip("fcntl")
    with (tmp_path / "s.duckdb").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(
            ValueError, match=r"s\.duckdb is begun by another command: wait until that has ended"
        ):
            counts(tmp_path / "s.duckdb")
    assert counts(tmp_path / "s.duckdb") == [0] * OUTPUTS


def test_a_link_that_leads_back_to_itself_is_a_sentence(tmp_path):
    (tmp_path / "s.duckdb").symlink_to("s.duckdb")
    with pytest.raises(ValueError, match="is a symbolic link that leads back to itself: name a file"):
        Collection(tmp_path / "s.duckdb", IDENTIFIER, OUTPUTS)
