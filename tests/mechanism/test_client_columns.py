"""Values as NumPy, pandas and Arrow hold them: scalars are values of clients, columns hold one a user."""

import ast
import sys
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from test_client import no_bytes

import stratagem as st
from mechanisms import mechanism
from stratagem.mechanism import client as shipped
from stratagem.mechanism.client import Client

SCALARS = {
    "int64": ("two-level", np.int64(3), 3),
    "uint8": ("two-level", np.uint8(11), 11),
    "array of no dimensions": ("two-level", np.array(3), 3),
    "arrow whole number": ("two-level", pa.scalar(3), 3),
    "float of a whole number": ("two-level", np.float64(3), 3),
    "text of a whole number": ("two-level", " 3 ", 3),
    "text of a number": ("edges", "0.50", 0.5),
    "text": ("labels", np.str_("nein"), "nein"),
    "arrow text": ("labels", pa.scalar("nein"), "nein"),
    "float32": ("edges", np.float32(0.1), float(np.float32(0.1))),
    "long double": ("edges", np.longdouble(0.1), 0.1),
    "float16": ("edges", np.float16(59.97), float(np.float16(59.97))),
    "int32 among edges": ("edges", np.int32(60), 60),
    "float64": ("edges", np.float64(-30), -30.0),
    "mapping": ("several-attributes", {"age": np.int64(20), "sex": np.str_("f")}, {"age": 20, "sex": "f"}),
}


@pytest.mark.parametrize("name", SCALARS)
def test_a_scalar_is_the_value_that_python_would_hold(name):
    case, value, plain = SCALARS[name]
    client = mechanism(case).client
    assert client.cell(value) == client.cell(plain)
    assert type(client.cell(value)) is int
    assert 0 <= client.randomise(value)["output"] < mechanism(case).outputs


def test_a_float_of_fewer_bits_is_its_shortest_decimal():
    """As in files; NumPy itself rounds an edge to 32 bits before it compares."""
    bundle = {"name": "x", "size": 2, "edges": ["0", "0.7", "1"]}
    assert [shipped.reader(bundle)(kind(0.7)) for kind in (float, np.float32, np.float16)] == [1, 1, 1]
    assert shipped.reader(bundle)(np.nextafter(np.float32(0.7), np.float32(0))) == 0


REFUSED = {
    "bool": ("two-level", np.bool_(True)),
    "float outside": ("two-level", np.float64(12)),
    "fraction": ("two-level", np.float64(2.5)),
    "outside": ("two-level", np.int64(12)),
    "number for a text": ("labels", np.int64(1)),
    "bool among edges": ("edges", np.bool_(False)),
    "nan": ("edges", np.float32("nan")),
    "date": ("edges", np.datetime64("2020-01-01")),
    "missing": ("edges", pd.NA),
    "missing in arrow": ("two-level", pa.scalar(None)),
    "tuple": ("two-level", (1, 2)),
    "bytes": ("labels", b"ja"),
    "table of numbers": ("two-level", np.ones((2, 2), int)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_python_would_refuse_is_refused_before_anything_is_drawn(name):
    case, value = REFUSED[name]
    with pytest.raises(ValueError, match="must be"):
        Client(mechanism(case).bundle, no_bytes).randomise(value)


COLUMNS = {
    "list": ("two-level", [0, 11, 3]),
    "numpy": ("two-level", np.array([0, 11, 3], dtype=np.uint16)),
    "numpy objects": ("two-level", np.array([np.int64(0), 11, 3], dtype=object)),
    "pandas": ("two-level", pd.Series([0, 11, 3], index=[7, 7, 7])),
    "pandas with missing allowed": ("two-level", pd.array([0, 11, 3], dtype="Int64")),
    "arrow": ("two-level", pa.array([0, 11, 3])),
    "arrow chunks": ("two-level", pa.chunked_array([[0], [11, 3]])),
    "texts": ("labels", pd.Series(["ja", "nein", "ja"])),
    "categories": ("labels", pd.Series(["ja", "nein", "ja"], dtype="category")),
    "arrow dictionary": ("labels", pa.array(["ja", "nein", "ja"]).dictionary_encode()),
    "numbers among edges": ("edges", np.array([0.25, -30, 59.5], dtype=np.float32)),
    "arrow records": ("several-attributes", pa.table({"age": [1, 20, 70], "sex": ["f", "m", "f"]})),
    "nobody": ("two-level", pd.Series([], dtype=int)),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_becomes_a_report_of_each_value(name):
    case, column = COLUMNS[name]
    found = mechanism(case)
    values = getattr(column, "to_pylist", getattr(column, "tolist", lambda: column))()
    counted = iter(range(10**6))

    def source(count: int) -> bytes:
        """Random bytes that repeat from run to run."""
        return np.random.default_rng(next(counted)).bytes(count)

    reports = Client(found.bundle, source).randomise(column)
    counted = iter(range(10**6))
    again = Client(found.bundle, source)
    assert reports == [again.randomise(value) for value in values]
    real = found.client.randomise(column)
    assert len({report["id"] for report in real}) == len(values)


TENTHS = st.Domain(x=st.bins("0:0.8:0.1,no answer"))
READ = {
    "decimal": (Decimal("0.30"), [3]),
    "float32": (np.float32(0.7), [7]),
    "float32 column": (np.array([0.1, 0.3, 0.6, 0.7], np.float32), [1, 3, 6, 7]),
    "pandas float32": (pd.Series([0.7, None], dtype="Float32"), [7, 8]),
    "pandas missing": (pd.Series([0, None], dtype="Int64"), [0, 8]),
    "missing among objects": (pd.Series([0.3, pd.NA, None, float("nan")], dtype=object), [3, 8, 8, 8]),
    "missing dates": (pd.Series([pd.NaT, pd.NaT]), [8, 8]),
    "missing numpy date": (np.datetime64("NaT"), [8]),
    "arrow decimals": (pa.array([Decimal("0.2"), None]), [2, 8]),
}


@pytest.mark.parametrize("name", READ)
def test_values_have_the_cells_that_they_have_in_files(name):
    """Decimals and numbers of less precision are the numbers that files hold; what is missing is no answer."""
    given, cells = READ[name]
    client = st.optimise(st.prefix(TENTHS), 1.0, seconds=1).mechanism().client
    values = given if isinstance(given, Iterable) else [given]
    assert [client.cell(value) for value in values] == cells
    assert len(client.randomise(values)) == len(cells)
    seen = []
    client.report = seen.append
    client.randomise(given)
    assert seen == cells


BAD = {
    "pandas": (
        "two-level",
        pd.Series([0, 12, 3, -1]),
        "2 of 4 .* position 1 from 0: .* is 12 .above 11., but",
    ),
    "missing": ("labels", pa.array(["ja", None]), "1 of 2 .* position 1 from 0: .* is None .missing., but"),
    "missing number": (
        "two-level",
        pd.Series([1, None]),
        "1 of 2 .* position 1 from 0: .* is nan .missing., but",
    ),
    "list in a column": ("labels", [["ja"]], "1 of 1 .* position 0 from 0"),
    "records": ("several-attributes", [{"age": 1, "sex": "f"}, {"age": 1}], "1 of 2 .* position 1 from 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_values_are_counted_and_the_first_is_named_before_anything_is_drawn(name):
    case, column, words = BAD[name]
    with pytest.raises(ValueError, match=words) as refused:
        Client(mechanism(case).bundle, no_bytes).randomise(column)
    assert "\n" not in str(refused.value)


def test_the_shipped_client_imports_the_standard_library_alone():
    tree = ast.parse(Path(shipped.__file__).read_text("utf-8"))
    names = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    names |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert {str(name).split(".")[0] for name in names} <= sys.stdlib_module_names
