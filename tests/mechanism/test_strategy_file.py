"""Strategies survive files bit by bit; files that are no strategies are refused in one sentence."""

import io
import json
import zipfile

import numpy as np
import pytest

import stratagem as st
from stratagem.mechanism.export.saved import StoredStrategy, load, save
from stratagem.workloads.serial import to_data

pytestmark = pytest.mark.smoke

WORKLOADS = {
    "prefix": st.prefix(4),
    "parity": st.parity("2^2", 1),
    "explicit": st.explicit(np.random.default_rng(0).normal(size=(3, 4))),
    "by sex": st.stack([st.kron([st.prefix({"age": 2}), st.histogram({"sex": 2})]), st.total("age=2,sex=2")]),
}


def stored(workload=WORKLOADS["prefix"], epsilon=1.0) -> StoredStrategy:
    return StoredStrategy(st.published.randomised_response(4, 1.0), epsilon, workload, "prefix")


@pytest.mark.parametrize("name", WORKLOADS)
def test_npz_keeps_every_bit(tmp_path, name):
    path = save(tmp_path / "s.npz", stored(WORKLOADS[name]))
    back = load(path)
    assert (back.strategy.matrix == stored().strategy.matrix).all()
    assert back.epsilon == 1.0
    assert back.name == "prefix"
    assert to_data(back.workload) == to_data(WORKLOADS[name])
    assert list(tmp_path.iterdir()) == [path]


def test_npz_holds_plain_arrays_under_the_promised_names(tmp_path):
    with np.load(save(tmp_path / "s.npz", stored()), allow_pickle=False) as arrays:
        assert sorted(arrays) == ["epsilon", "specification", "strategy", "workload"]
        assert arrays["strategy"].dtype == np.float64
        assert str(arrays["workload"]) == "prefix"


def test_csv_and_mat_hold_the_matrix_exactly(tmp_path):
    from scipy.io import loadmat

    matrix = stored().strategy.matrix
    numbers = np.loadtxt(save(tmp_path / "s.csv", stored()), delimiter=",", skiprows=1)
    assert (numbers[:, 0] == np.arange(len(matrix))).all()
    assert (numbers[:, 1:] == matrix).all()
    variables = loadmat(save(tmp_path / "s.mat", stored()))
    assert (variables["strategy"] == matrix).all()
    assert variables["epsilon"].item() == 1.0


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = save(tmp_path / "s.npz", stored())
    before = path.read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="No space"):
        save(path, stored())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "words"),
    [("s.pkl", r"\.npz, \.csv, \.mat"), ("s", "suffix"), ("absent/s.npz", "does not exist")],
)
def test_targets_are_checked(tmp_path, name, words):
    with pytest.raises(ValueError, match=words):
        save(tmp_path / name, stored())


def test_parts_must_fit_together():
    with pytest.raises(ValueError, match="measures 1"):
        stored(epsilon=0.9)
    with pytest.raises(ValueError, match="4 user types, but its workload has 5"):
        stored(st.prefix(5))


GOOD = {
    "strategy": st.published.randomised_response(4, 1.0).matrix,
    "epsilon": np.float64(1.0),
    "workload": np.str_("prefix"),
    "specification": np.str_(json.dumps(to_data(st.prefix(4)))),
}
HOSTILE = {
    "declared epsilon too small": ({"epsilon": np.float64(0.5)}, "measures 1"),
    "epsilon nan": ({"epsilon": np.float64(np.nan)}, "epsilon is nan"),
    "epsilon text": ({"epsilon": np.str_("1")}, "float64"),
    "epsilon array": ({"epsilon": np.ones(3)}, "float64 with 0 dimensions"),
    "matrix nan": ({"strategy": np.full((4, 4), np.nan)}, "non-finite"),
    "matrix negative": ({"strategy": np.eye(4) * 2 - 0.25}, "negative"),
    "matrix of zeros and ones": ({"strategy": np.eye(4)}, "measures inf"),
    "columns off": ({"strategy": np.full((4, 4), 0.3)}, "sum to one"),
    "matrix empty": ({"strategy": np.ones((0, 4))}, "reports x user types"),
    "matrix flat": ({"strategy": np.ones(4)}, "2 dimensions"),
    "matrix complex": ({"strategy": np.eye(4) + 0j}, "float64"),
    "matrix transposed": ({"strategy": np.full((3, 5), 1 / 3)}, "5 user types, but its workload has 4"),
    "name a number": ({"workload": np.float64(1)}, "not a text"),
    "specification not JSON": ({"specification": np.str_("{")}, "not JSON"),
    "specification deep": ({"specification": np.str_("[" * 100_000)}, "not JSON"),
    "specification of nothing": ({"specification": np.str_("{}")}, "kind"),
    "specification of another size": ({"specification": np.str_(json.dumps(to_data(st.prefix(5))))}, "5"),
    "a pickle": ({"strategy": np.array([[object()]])}, "plain arrays"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_arrays_are_refused(tmp_path, name):
    changes, words = HOSTILE[name]
    path = tmp_path / "hostile.npz"
    np.savez(path, **(GOOD | changes))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=words) as error:
        load(path)
    assert "hostile.npz" in str(error.value)


@pytest.mark.parametrize("key", GOOD)
def test_a_missing_array_is_named(tmp_path, key):
    np.savez(tmp_path / "s.npz", **{name: GOOD[name] for name in GOOD if name != key})
    with pytest.raises(ValueError, match=rf"lacks one of .*{key}"):
        load(tmp_path / "s.npz")


def huge() -> bytes:
    """An archive whose header declares 8 TiB of numbers and holds none."""
    header, archive = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (1 << 20, 1 << 20)}
    )
    with zipfile.ZipFile(archive, "w") as file:
        for key in GOOD:
            file.writestr(f"{key}.npy", header.getvalue())
    return archive.getvalue()


def whole() -> bytes:
    file = io.BytesIO()
    np.savez(file, **GOOD)
    return file.getvalue()


def plain() -> bytes:
    file = io.BytesIO()
    np.save(file, np.eye(3))
    return file.getvalue()


CONTENTS = {
    "empty": lambda: b"",
    "text": lambda: b"hello",
    "an .npy": plain,
    "cut short": lambda: whole()[:-100],
    "bits flipped": lambda: whole().replace(whole()[400:420], b"\xff" * 20),
    "a header that lies": huge,
}


@pytest.mark.parametrize("name", CONTENTS)
def test_files_that_are_no_archives_are_refused(tmp_path, name):
    path = tmp_path / "s.npz"
    path.write_bytes(CONTENTS[name]())
    with pytest.raises(ValueError, match="is not a saved mechanism"):
        load(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    for path in (tmp_path / "absent.npz", tmp_path):
        with pytest.raises(ValueError, match="cannot be read"):
            load(path)
