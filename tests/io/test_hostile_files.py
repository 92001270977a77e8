"""Files of matrices and settings that lie: one sentence each, soon and in little memory."""

import os
import resource

import pytest
from test_fuzzed_files import LIMIT, ended

import stratagem as st
from commands import assert_refused
from hostile_matrices import HEADERS, matrices, npy, npz, write
from stratagem.mechanism.matrix_input import read_probabilities

COUNT = int(float(os.environ.get("STRATAGEM_MATRICES", "40")))
SEED = 17


@pytest.mark.parametrize("name", HEADERS)
def test_headers_that_lie_are_refused(tmp_path, name):
    path = write(tmp_path, ".npy", HEADERS[name])
    with pytest.raises(ValueError, match=r"is not an array of numbers in NumPy's \.npy format"):
        st.load(path)
    path = write(tmp_path, ".npz", npz(HEADERS[name]))
    with pytest.raises(ValueError, match=r"is not a whole \.npz archive of plain arrays"):
        read_probabilities(path)


def test_arrays_by_columns_and_of_other_numbers_are_read(tmp_path):
    numbers = bytes(8) + bytes([0, 0, 0, 0, 0, 0, 0xF0, 0x3F])
    path = write(tmp_path, ".npy", npy("(1, 2)", columns=True, data=numbers))
    assert st.load(path).rows.tolist() == [[0, 1]]
    path = write(tmp_path, ".npy", npy("(1, 2)", "'|u1'", data=b"\x03\x04"))
    assert st.load(path).rows.tolist() == [[3, 4]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"a = {'[' * 2000}{']' * 2000}", "nests more than"),
        (f"a = {'{b=' * 2000}1{'}' * 2000}", "nests more than"),
        (f"title.{'.'.join('a' * 2000)} = 1", "nests more than"),
        (f"[{'.'.join('a' * 2000)}]", "nests more than"),
        (f"order = {'9' * 6000}", "more than 1000 digits"),
    ],
)
def test_settings_that_nobody_can_read_are_refused(capsys, tmp_path, text, words):
    path = tmp_path / "w.toml"
    path.write_text(f'family = "prefix"\n{text}\n')
    assert_refused(capsys, ["bound", path, "--domain", "4", "--epsilon", "1"], words)


@pytest.mark.parametrize("command", [("bound", "--check"), ("export", "-o=x.csv"), ("report",)])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_never_ends_is_no_archive(capsys, tmp_path, command, kind):
    """The device ends at once here: where it is opened, this test fails without filling the memory."""
    path = tmp_path / "w.npz"
    os.mkfifo(path) if kind == "pipe" else path.symlink_to(os.devnull)
    assert ended(capsys, [*command, path]) == ("", 2)
    assert_refused(capsys, [*command, path], "it is a device, a pipe or a socket")


@pytest.mark.parametrize("suffix", [".toml", ".npy", ".csv"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_never_ends_is_no_workload(capsys, tmp_path, suffix, kind):
    path = tmp_path / f"w{suffix}"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    arguments = ["bound", path, "--domain", "4", "--epsilon", "1"]
    assert ended(capsys, arguments) == ("", 2)
    assert_refused(capsys, arguments, "a device, a pipe or a socket")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("workload", "domain", "words"),
    [
        ("all-marginals", "2^2000", "above the largest float64"),
        ("all-marginals", "2^1100", "above the largest float64"),
        ("total", f"a={2**53},b={2**53}", "use coarser values"),
    ],
)
def test_domains_beyond_any_number_are_refused(capsys, workload, domain, words):
    command = "bound" if workload == "all-marginals" else "optimise"
    assert_refused(capsys, [command, workload, "--domain", domain, "--epsilon", "1"], words)


@pytest.mark.parametrize("suffix", [".parquet", ".npz", ".csv", ".mat"])
def test_a_disk_that_is_full_is_said_in_one_sentence(capsys, tmp_path, suffix):
    from mechanisms import mechanism

    mechanism("labels").save(tmp_path / "m.ldp.json")
    room = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40, room[1]))
    try:
        arguments = ["export", tmp_path / "m.ldp.json", "-o", tmp_path / f"out{suffix}"]
        assert_refused(capsys, arguments, "cannot be (used|written)")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, room)
    assert [path.name for path in tmp_path.iterdir()] == ["m.ldp.json"]


@pytest.mark.parametrize(
    ("name", "suffix", "body"),
    [pytest.param(*one, id=f"{number} {one[0]}{one[1]}") for number, one in enumerate(matrices(SEED, COUNT))],
)
def test_any_file_of_a_matrix_is_read_or_refused(capsys, tmp_path, monkeypatch, name, suffix, body):
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, suffix, body)
    arguments = [
        "import",
        path,
        "--workload",
        "histogram",
        "--domain",
        "4",
        "--epsilon",
        "2",
        "-o",
        "o.ldp.json",
    ]
    wrong, status = ended(capsys, arguments)
    assert not wrong
    assert (tmp_path / "o.ldp.json").exists() == (status == 0)
    if suffix in (".npy", ".csv"):
        assert not ended(capsys, ["bound", path, "--epsilon", "1"])[0]


def test_some_of_them_are_read_and_some_refused():
    assert LIMIT <= 20
    kinds = {suffix for _, suffix, _ in matrices(SEED, 40)}
    assert kinds == {".npy", ".npz", ".mat", ".csv", ".parquet"}
    assert {name for name, _, _ in matrices(SEED, 96)} > set(HEADERS)
