from pathlib import Path

import numpy as np
import pytest

from stratagem import workloads as w
from stratagem.workloads.given import entry, folder, load, names
from stratagem.workloads.serial import to_data

pytestmark = pytest.mark.smoke

MOST_LINES = 15


def sentence_of(action):
    with pytest.raises(ValueError, match=r".") as error:
        action()
    sentence = str(error.value)
    assert "\n" not in sentence
    assert len(sentence) < 400
    return sentence


@pytest.fixture
def write(tmp_path):
    def writer(name: str, text: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return writer


# --- the files that ship ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", names("workloads"))
def test_every_file_loads_and_is_short(name):
    shipped = entry("workloads", name)
    assert shipped.title
    assert shipped.reference
    assert len((folder("workloads") / f"{name}.toml").read_text().splitlines()) <= MOST_LINES
    domain = "2^4" if "marginals" in name else 16
    workload = load(name, domain=domain if "family" in shipped.settings else None)
    assert workload.queries >= 1
    assert workload.frobenius_squared > 0


def test_the_promised_names_are_there():
    promised = {
        "histogram",
        "total",
        "prefix",
        "all-range",
        "all-marginals",
        "marginals",
        "parity",
        "ages-by-sex",
    }
    assert promised <= set(names("workloads"))


@pytest.mark.parametrize(
    ("name", "request_", "expected"),
    [
        ("histogram", {"domain": 5}, w.histogram(5)),
        ("total", {"domain": 5}, w.total(5)),
        ("prefix", {"domain": "37"}, w.prefix(37)),
        ("all-range", {"domain": 5}, w.all_range(5)),
        ("all-range", {"domain": 5, "width": 2}, w.all_range(5, 2)),
        ("short-ranges", {"domain": 64}, w.all_range(64, 8)),
        ("short-ranges", {"domain": 64, "width": 3}, w.all_range(64, 3)),
        ("all-marginals", {"domain": "2^3"}, w.all_marginals("2^3")),
        ("marginals", {"domain": "2^3"}, w.marginals("2^3", 2)),
        ("marginals", {"domain": {"a": 3, "b": 2}, "order": 1}, w.marginals("a=3,b=2", 1)),
        ("parity", {"domain": "2^3"}, w.parity("2^3")),
        ("parity", {"domain": "2^3", "order": 0}, w.parity("2^3", 0)),
    ],
)
def test_names_mean_what_they_say(name, request_, expected):
    assert load(name, **request_) == expected


def test_ages_by_sex_is_a_weighted_stack():
    prefixes = w.kron([w.prefix({"age": 100}), w.histogram({"sex": 2})])
    ages = w.kron([w.histogram({"age": 100}), w.total({"sex": 2})])
    expected = w.stack([prefixes, w.weighted(ages, 2.0)])
    for domain in (None, "age=100,sex=2", {"age": 100, "sex": 2}):
        assert to_data(load("ages-by-sex", domain=domain)) == to_data(expected)


def test_solvers_have_a_catalogue_too():
    assert isinstance(names("solvers"), tuple)
    assert "choose one of" in sentence_of(lambda: entry("workloads", "qqqq"))
    assert "workloads and solvers" in sentence_of(lambda: names("recipes"))


# --- files of the user --------------------------------------------------------------------------------


def test_a_file_of_the_user(write):
    path = write("mine.toml", 'domain = { a = 3, b = 2 }\n[[query]]\non = { b = "all-range" }\n')
    expected = w.kron([w.total({"a": 3}), w.all_range({"b": 2})])
    assert load(path) == expected
    assert load(str(path)) == expected


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float32, np.float64])
def test_npy(tmp_path, dtype):
    rows = np.array([[1, 1, 0], [0, 1, 1]], dtype=dtype)
    np.save(tmp_path / "W.npy", rows)
    np.testing.assert_array_equal(load(tmp_path / "W.npy").matrix(), rows)
    assert load(tmp_path / "W.npy", domain="age=3").domain.names == ("age",)


@pytest.mark.parametrize(
    "text",
    [
        "1,0.5,-2e3\n0,1,0\n",
        "1,0.5,-2e3\r\n0,1,0",
        "low,middle,high\n1, 0.5 ,-2e3\n\n0,1,0\n\n",
        "\ufeff1,0.5,-2e3\n0,1,0\n",
        '"1","0.5","-2e3"\n0,1,0\n',
    ],
)
def test_csv(write, text):
    rows = [[1, 0.5, -2000], [0, 1, 0]]
    np.testing.assert_array_equal(load(write("W.csv", text)).matrix(), rows)


# --- what is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "request_", "fragment"),
    [
        ("prefx", {"domain": 4}, "did you mean prefix"),
        ("Marginal", {"domain": 4}, "did you mean marginals"),
        ("", {}, "choose one of"),
        (".", {}, "neither a workload"),
        ("../workloads/prefix", {"domain": 4}, "neither a workload"),
        ("prefix", {}, "domain=64"),
        ("prefix", {"domain": "sixty"}, "'sixty' was given as a domain"),
        ("prefix", {"domain": "2^3"}, "name one attribute"),
        ("prefix", {"domain": 4, "order": 2}, "workload prefix was given order = 2, but takes no options"),
        ("marginals", {"domain": "2^3", "width": 2}, "takes order only"),
        ("marginals", {"domain": 64}, "domain='2^6'"),
        ("ages-by-sex", {"domain": 200}, "fixes its domain age=100,sex=2, but was given 200"),
        ("ages-by-sex", {"order": 1}, "takes no options"),
        ("missing.toml", {}, "missing.toml cannot be read (No such file or directory)"),
        ("missing.npy", {}, "missing.npy cannot be read"),
        ("missing.csv", {}, "missing.csv cannot be read"),
        ("W.txt", {}, "neither a workload of the catalogue nor a .toml, .npy or .csv file"),
    ],
)
def test_requests_refused(name, request_, fragment):
    assert fragment in sentence_of(lambda: load(name, **request_))


DOMAIN = "domain = { a = 3, b = 2 }\n"


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("", "the key domain is missing"),
        (
            "[[attributes]]\nsize = 3\n[[query]]\non = { a = 'total' }",
            "a table belongs: write [attributes.NAME]",
        ),
        ("[attributes]\na = 3\n[[query]]\non = { a = 'total' }", "3 was given where a table belongs"),
        ("= 3", "is not TOML"),
        (b"\xff", "is not text in UTF-8"),
        (
            'family = "prefix"\nwdith = 3',
            "unknown key 'wdith': the known keys are title, reference, about, family",
        ),
        ('family = "prefix"\ndomain = 3', "unknown key 'domain'"),
        ('family = "suffix"', "the families are histogram"),
        ("family = 3", "the families are histogram"),
        ('title = 3\nfamily = "prefix"', "title = 3 is not text"),
        ('family = "prefix"\nwidth = 3', "takes no options"),
        (DOMAIN, "the key query is missing"),
        (DOMAIN + "query = []", "at least one is needed"),
        (DOMAIN + "query = 3", "at least one is needed"),
        (DOMAIN + "query = [3]", "3 was given where a table belongs"),
        (DOMAIN + "[[query]]\nweight = 2", "the key on is missing"),
        (DOMAIN + "[[query]]\non = 3", "on = 3 is not a table"),
        (DOMAIN + '[[query]]\non = { c = "prefix" }', "the attributes are a, b"),
        (
            DOMAIN + '[[query]]\non = { a = "median" }',
            "the primitives are identity, total",
        ),
        (DOMAIN + "[[query]]\non = { a = 3 }", "the primitives are"),
        (DOMAIN + '[[query]]\non = { a = "prefix" }\nwieght = 2', "unknown key 'wieght'"),
        (DOMAIN + '[[query]]\non = { a = "prefix" }\nweight = 0', "the weight is 0"),
        (DOMAIN + '[[query]]\non = { a = "prefix" }\nweight = nan', "the weight is nan"),
        (DOMAIN + '[[query]]\non = { a = "prefix" }\nweight = "2"', "the weight is '2'"),
        ('domain = { a = 0 }\n[[query]]\non = { a = "prefix" }', "attribute 'a' is 0"),
        ('domain = ["x"]\n[[query]]\non = { a = "prefix" }', "'a1' is 'x'"),
    ],
)
def test_toml_refused(write, text, fragment):
    path = write("mine.toml", text)
    sentence = sentence_of(lambda: load(path, domain=4 if b"family" in path.read_bytes() else None))
    assert fragment in sentence
    assert "mine.toml" in sentence


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("", "holds no numbers"),
        ("a,b\n", "holds no numbers"),
        ("1,2\n3\n", "line 2: 1 cells where the first row has 2"),
        ("1,2\n3,x\n", "line 2: 'x' is not a finite number"),
        ("a,b\nc,d\n1,2\n", "line 2: 'c'"),
        ("1,b\n1,2\n", "line 1: 'b'"),
        ("1,2\n3,\n", "line 2: ''"),
        ("1,nan\n", "line 1: 'nan'"),
        ("1,2\n1e999,2\n", "line 2: '1e999'"),
        ("1,1_000\n", "line 1: '1_000'"),
        ("1;2\n", "holds no numbers"),
        ("0,0\n", "only zeros"),
        (b"\xff\xfe", "is not comma-separated text in UTF-8"),
    ],
)
def test_csv_refused(write, text, fragment):
    sentence = sentence_of(lambda: load(write("W.csv", text)))
    assert fragment in sentence
    assert "W.csv" in sentence


def test_a_huge_header_of_npy_allocates_nothing(write):
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }"
    header += b" " * (117 - len(header)) + b"\n"
    path = write("W.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    assert "not an array of numbers" in sentence_of(lambda: load(path))


@pytest.mark.parametrize("content", [b"", b"no array", b"\x93NUMPY\x01\x00"])
def test_npy_refused(write, content):
    assert "not an array of numbers" in sentence_of(lambda: load(write("W.npy", content)))


def test_pickled_arrays_are_never_loaded(tmp_path):
    np.save(tmp_path / "W.npy", np.array([[object()]]), allow_pickle=True)
    assert "not an array of numbers" in sentence_of(lambda: load(tmp_path / "W.npy"))


def test_an_archive_is_no_matrix(tmp_path):
    np.savez(tmp_path / "W.npz", W=np.eye(2))
    (tmp_path / "W.npz").rename(tmp_path / "W.npy")
    assert "not an array of numbers" in sentence_of(lambda: load(tmp_path / "W.npy"))


@pytest.mark.parametrize("request_", [{"domain": 4}, {"order": 2}, {"width": 2}])
def test_a_matrix_takes_no_options_and_one_domain(tmp_path, request_):
    np.save(tmp_path / "W.npy", np.eye(3))
    assert "W.npy" in sentence_of(lambda: load(tmp_path / "W.npy", **request_))
