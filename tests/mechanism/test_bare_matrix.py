"""A file of numbers where a bundle or a saved strategy is asked for: one sentence, and its advice works."""

import re
import shlex

import numpy as np
import pytest

import stratagem as st
from commands import assert_refused, run
from mechanisms import mechanism
from stratagem.io.literal import SUFFIXES, BareMatrixError
from stratagem.mechanism.export.saved import to_stored, write_saved

COMMANDS = {
    "report": ("report", "FILE"),
    "simulate": ("simulate", "FILE", "--data", "people.csv", "--column", "age"),
    "export": ("export", "FILE", "-o", "out.csv"),
    "randomise": ("randomise", "FILE", "--value", "1"),
    "aggregate": ("aggregate", "FILE", "reports.jsonl"),
    "estimate": ("estimate", "FILE", "counts.json"),
    "audit": ("audit", "FILE", "--samples", "100"),
}
BUNDLES_ALONE = ("randomise", "aggregate", "estimate", "audit")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A matrix in every format, without the workload and the epsilon it was made for."""
    monkeypatch.chdir(tmp_path)
    matrix = mechanism("two-level").strategy.dense().matrix
    for suffix in (".csv", ".mat", ".parquet"):
        write_saved(tmp_path / f"bare matrix{suffix}", to_stored(mechanism("two-level")))
    np.save(tmp_path / "bare matrix.npy", matrix)
    np.savez(tmp_path / "bare matrix.npz", strategy=matrix)
    write_saved(tmp_path / "whole.npz", to_stored(mechanism("two-level")))
    return tmp_path


@pytest.mark.sampled(2)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("suffix", [".npz", ".csv", ".mat", ".parquet", ".npy"])
def test_a_bare_matrix_is_one_sentence_that_names_the_command_import(capsys, command, suffix):
    words = [f"bare matrix{suffix}" if word == "FILE" else word for word in COMMANDS[command]]
    assert_refused(
        capsys, words, rf"bare matrix\{suffix} is a \{suffix} file, but .* asked for: stratagem import"
    )


@pytest.mark.parametrize("command", BUNDLES_ALONE)
def test_a_strategy_in_doubles_is_one_sentence_that_names_the_command_export(capsys, command):
    words = ["whole.npz" if word == "FILE" else word for word in COMMANDS[command]]
    assert_refused(
        capsys, words, r"whole.npz is a .npz file, .*: stratagem export whole.npz -o whole.ldp.json"
    )


@pytest.mark.parametrize("name", ["whole.npz", "bare matrix.npz", "bare matrix.mat", "bare matrix.csv"])
def test_what_is_advised_makes_a_bundle(capsys, name):
    _, _, err = run(capsys, "randomise", name, "--value", "1")
    advice = shlex.split(re.search("stratagem ((import|export) .*) makes one", err)[1])  # type: ignore[index]
    known = {"NAME": "prefix", "SIZES": "12", "EPSILON": "1"}
    status, _, err = run(capsys, *(known.get(word, word) for word in advice))
    assert (status, err) == (0, "")
    made = st.load_mechanism(advice[advice.index("-o") + 1])
    wanted = float(mechanism("two-level").utility["objective"])
    assert float(made.utility["objective"]) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_library_names_the_function_that_imports(folder, suffix):
    with pytest.raises(
        BareMatrixError, match=r"st\.mechanism\.import_matrix\(matrix, workload, epsilon\)"
    ) as refused:
        st.load_mechanism(folder / f"bare matrix{suffix}")
    assert "--" not in str(refused.value)
    assert "stratagem " not in str(refused.value)


def test_a_file_that_is_not_there_or_a_folder_cannot_be_read(folder):
    (folder / "folder.npz").mkdir()
    for name in ("absent.npz", "folder.npz"):
        with pytest.raises(ValueError, match="cannot be read"):
            st.load_mechanism(name)
