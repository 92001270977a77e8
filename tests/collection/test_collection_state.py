"""The state of a collection: killed at any moment it loses and doubles nothing, and it belongs to one mechanism."""

import os
import random
import re
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import contextmanager

import duckdb
import numpy as np
import pytest

from stratagem.collection import report_file, report_table
from stratagem.collection.collection import Collection

IDENTIFIER = "0123456789abcdef" * 4
OUTPUTS = 7
FILES, ROWS = 8, 2000

RUN = """
import contextlib, os, signal, sys
from pathlib import Path
from stratagem.collection.collection import Collection
state, folder, identifier, outputs, *where = sys.argv[1:]

def die():
    os.kill(os.getpid(), signal.SIGKILL)

check, statement = Collection._check_new, Collection._sql

def inside(self, content, size):
    check(self, content, size)
    if statement(self, "SELECT count(*) FROM files") == [(2,)]:
        die()

def committing(self, text, *values):
    rows = statement(self, text, *values)
    if text == "COMMIT" and statement(self, "SELECT count(*) FROM files") == [(3,)]:
        die()
    return rows

if "inside" in where:
    Collection._check_new = inside
if "committing" in where:
    Collection._sql = committing
if "careless" in where:
    Collection._transaction = lambda self: contextlib.nullcontext()
with Collection(state, identifier, int(outputs), anonymous="count") as collection:
    print("open", flush=True)
    collection.add(Path(folder), lambda taken: "between" in where and taken.done == 3 and die())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files with ids that repeat across files, and files without any."""
    folder, rng = tmp_path_factory.mktemp("in"), np.random.default_rng(20260101)
    for number in range(FILES):
        outputs = rng.integers(OUTPUTS + 1, size=ROWS).tolist()
        names = rng.integers(FILES * ROWS, size=ROWS).tolist()
        rows = (f"{name:032x},{name % OUTPUTS}" for name in names) if number % 2 else map(str, outputs)
        header = "id,output" if number % 2 else "output"
        (folder / f"{number}.csv").write_text("\n".join([header, *rows]))
    return folder


@pytest.fixture(scope="module")
def undisturbed(folder):
    with Collection(None, IDENTIFIER, OUTPUTS, anonymous="count") as collection:
        collection.add(folder)
        return facts(collection)


def facts(collection):
    tally = collection.tally()
    return tally.counts.tolist(), dict(tally.rejected), tally.duplicates, tally.conflicting, tally.received


def start(state, folder, *where, home=None):
    command = [sys.executable, "-c", RUN, str(state), str(folder), IDENTIFIER, str(OUTPUTS), *where]
    environment = os.environ | ({} if home is None else {"HOME": str(home)})
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def taken(state):
    """The files that count as taken, and the rows that are there."""
    with duckdb.connect(state) as connection:
        return tuple(
            connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0]
            for table in ("files", "reports")
        )


def finished(state, folder):
    with Collection(state, IDENTIFIER, OUTPUTS, anonymous="count") as collection:
        collection.add(folder)
        return facts(collection)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("where", ["between", "inside", "committing"])
def test_killed_at_a_chosen_moment_it_goes_on(where, folder, undisturbed, tmp_path):
    state = tmp_path / "s.reports.duckdb"
    with start(state, folder, where) as process:
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert (
        taken(state)
        == {"between": (3, 3 * ROWS), "inside": (2, 2 * ROWS), "committing": (3, 3 * ROWS)}[where]
    )
    assert finished(state, folder) == undisturbed


def test_without_transactions_the_same_kill_leaves_half_a_file(folder, tmp_path):
    """The control: the test above notices what transactions prevent."""
    state = tmp_path / "s.reports.duckdb"
    with start(state, folder, "inside", "careless") as process:
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert taken(state) == (2, 3 * ROWS)


@pytest.mark.exhaustive
def test_killed_at_random_moments_it_goes_on(folder, undisturbed, tmp_path):
    """Real kills from outside, at moments of the clock's choosing; each start goes on where the last was cut off."""
    state, chance, killed = tmp_path / "s.reports.duckdb", random.Random(1), 0
    for _ in range(4):
        with start(state, folder) as process:
            assert process.stdout.readline() == "open\n"
            time.sleep(chance.uniform(0, 0.25))
            process.kill()
        killed += process.returncode == -signal.SIGKILL
    assert killed
    assert finished(state, folder) == undisturbed


def test_a_state_belongs_to_one_mechanism(tmp_path):
    state = tmp_path / "s.duckdb"
    Collection(state, IDENTIFIER, OUTPUTS).close()
    for identifier, outputs in [("f" * 64, OUTPUTS), (IDENTIFIER, OUTPUTS + 1)]:
        with pytest.raises(ValueError, match="collects reports of mechanism 0123456789abcdef with 7 outputs"):
            Collection(state, identifier, outputs)
    Collection(state, IDENTIFIER, OUTPUTS).close()


OWN = f"INSERT INTO about VALUES ('stratagem reports', {{}}, '{IDENTIFIER}', {OUTPUTS})"
ABOUT = f"CREATE TABLE about (kind VARCHAR, version INTEGER, mechanism VARCHAR, outputs BIGINT); {OWN}"


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE other (x INTEGER)",
        "CREATE TABLE about (x INTEGER)",
        "CREATE TABLE about (kind VARCHAR, version INTEGER, mechanism VARCHAR, outputs BIGINT)",
        f"{ABOUT.format(2)}; INSERT INTO about VALUES ('stratagem reports', 2, NULL, 7)",
        ABOUT.format(1),
        ABOUT.format(2),
        f"{ABOUT.format(2)}; CREATE TABLE files (number INTEGER); CREATE TABLE reports (output BIGINT)",
        f"{report_table.MADE}; CREATE TABLE more (x INTEGER); {OWN.format(2)}",
        f"{report_table.MADE}; ALTER TABLE reports ALTER output TYPE VARCHAR; {OWN.format(2)}",
    ],
)
def test_another_database_is_refused(tmp_path, statement):
    with duckdb.connect(tmp_path / "s.duckdb") as connection:
        connection.execute(statement)
    with pytest.raises(ValueError, match=r"s\.duckdb .* collection"):
        Collection(tmp_path / "s.duckdb", IDENTIFIER, OUTPUTS)


def test_a_database_of_sqlite_is_refused_and_no_extension_is_fetched(tmp_path):
    """DuckDB takes it for an order to download and run one; its home shows what was tried."""
    with sqlite3.connect(tmp_path / "s.duckdb") as connection:
        connection.execute("CREATE TABLE about (kind, version, mechanism, outputs)")
    connection.close()
    with start(tmp_path / "s.duckdb", tmp_path, home=tmp_path / "home") as process:
        _, error = process.communicate()
    assert "cannot be opened as a collection (it is no DuckDB file): name another file" in error
    assert not (tmp_path / "home").exists()


@pytest.mark.exhaustive
def test_a_state_that_is_damaged_anywhere_is_one_sentence(tmp_path, folder):
    """A byte in each block of DuckDB, and in its headers, is turned round; the control is the state as it was."""
    state, hurt = tmp_path / "s.duckdb", tmp_path / "hurt.duckdb"
    expected = finished(state, folder)
    raw, told = state.read_bytes(), []
    for place in [None, *(3 * 4096 * k + 100 for k in range(1 + len(raw) // (3 * 4096)))]:
        content = bytearray(raw)
        if place is not None and place < len(raw):
            content[place] ^= 0xFF
        hurt.write_bytes(content)
        try:
            assert finished(hurt, folder) == expected
        except ValueError as error:
            told.append(str(error))
    assert len(told) > len(raw) // (3 * 4096) / 2
    assert all(
        re.fullmatch(r"\S*hurt\.duckdb cannot be (opened|read) as a collection \(.*\): .*", one)
        for one in told
    )


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "row", ["0, NULL, 466, NULL", "0, NULL, -1, NULL", "0, NULL, NULL, NULL", "0, NULL, 3, 'why'"]
)
def test_rows_that_are_no_reports_are_not_counted(row, tmp_path, folder):
    """Such rows came from Parquet files before their values were looked at; each later run ended in a traceback."""
    state = tmp_path / "s.duckdb"
    finished(state, folder)
    with duckdb.connect(state) as connection:
        connection.execute(f"INSERT INTO reports VALUES ({row})")
    with Collection(state, IDENTIFIER, OUTPUTS) as collection:
        for first in (False, True):
            with pytest.raises(
                ValueError, match=r"s\.duckdb holds 1 rows that are neither .*: collect its files"
            ):
                collection.tally(first=first)


@pytest.mark.parametrize("version", [1, 3])
def test_another_version_is_refused(tmp_path, version):
    Collection(tmp_path / "s.duckdb", IDENTIFIER, OUTPUTS).close()
    with duckdb.connect(tmp_path / "s.duckdb") as connection:
        connection.execute(f"UPDATE about SET version = {version}")
    with pytest.raises(ValueError, match="is no collection of version 2: name another file"):
        Collection(tmp_path / "s.duckdb", IDENTIFIER, OUTPUTS)


def test_what_is_no_database_or_in_use_is_refused(tmp_path, folder):
    (tmp_path / "s.duckdb").write_bytes(b"text" * 5000)
    with pytest.raises(ValueError, match="cannot be opened as a collection"):
        Collection(tmp_path / "s.duckdb", IDENTIFIER, OUTPUTS)
    with pytest.raises(ValueError, match="suffix must be one of"):
        Collection(tmp_path / "s.db", IDENTIFIER, OUTPUTS)
    with pytest.raises(ValueError, match="cannot be opened as a collection"):
        Collection(tmp_path / "t.duckdb", IDENTIFIER, OUTPUTS, memory="lots")
    with (
        Collection(tmp_path / "used.duckdb", IDENTIFIER, OUTPUTS),
        start(tmp_path / "used.duckdb", folder) as other,
    ):
        assert other.communicate()[0] == ""
        assert other.returncode == 1


def test_a_state_may_be_a_link_or_have_any_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("md:a.duckdb", "[s]*.duckdb", "it's.duckdb", "-s.duckdb"):
        Collection(name, IDENTIFIER, OUTPUTS).close()
        assert (tmp_path / name).is_file()
    (tmp_path / "link.duckdb").symlink_to("-s.duckdb")
    Collection("link.duckdb", IDENTIFIER, OUTPUTS).close()
    assert (tmp_path / "link.duckdb").is_symlink()


def test_a_temporary_state_leaves_nothing(tmp_path):
    with Collection(None, IDENTIFIER, OUTPUTS) as collection:
        assert collection.path.exists()
    assert not collection.path.parent.exists()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_temporary_state_leaves_nothing_when_its_process_is_killed(tmp_path, how):
    code = (
        "import signal; from stratagem.collection.collection import Collection; "
        f"c = Collection(None, {IDENTIFIER!r}, {OUTPUTS}); print('open', flush=True); signal.pause()"
    )
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout.readline() == "open\n"
        (folder,) = tmp_path.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert (folder / "state.duckdb").exists()
        process.send_signal(how)
    assert process.returncode == -how
    for _ in range(600):  # the watching process needs a moment
        if not folder.exists():
            break
        time.sleep(0.05)
    assert list(tmp_path.iterdir()) == []


def test_a_file_written_to_meanwhile_is_not_taken(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("output\n1\n")
    opened = report_file.opened

    @contextmanager
    def slow(*given):
        with opened(*given) as table:
            yield table
        path.write_text("output\n1\n2\n")

    with Collection(None, IDENTIFIER, OUTPUTS, anonymous="count") as collection:
        with monkeypatch.context() as patch:
            patch.setattr(report_file, "opened", slow)
            with pytest.raises(ValueError, match=r"a\.csv changed while it was read"):
                collection.add(path)
        assert collection.tally().received == 0
        assert collection.add(path)[0].rows == collection.tally().received == 2
