"""What workloads refuse, each in one sentence; hostile data included."""

import numpy as np
import pytest

from stratagem import workloads as w
from stratagem.workloads.serial import from_data, to_data

NAN = float("nan")
PREFIX = to_data(w.prefix(3))
MARGINALS = to_data(w.marginals(2, 1))
WEIGHTED = to_data(w.weighted(w.prefix(3), 2.0))
EXPLICIT = to_data(w.explicit([[1.0, 2.0]]))


def nested(depth):
    data = PREFIX
    for _ in range(depth):
        data = {"kind": "stack", "parts": [data]}
    return data


REFUSED = {
    "prefix on two attributes": (lambda: w.prefix("2^2"), "name one attribute"),
    "all-range on two attributes": (lambda: w.all_range("a=2,b=3"), "kron"),
    "width 0": (lambda: w.all_range(8, 0), "the width is 0"),
    "width 9": (lambda: w.all_range(8, 9), "from 1 to 8"),
    "width 2.0": (lambda: w.all_range(8, 2.0), "the width is 2.0"),  # type: ignore[arg-type]
    "order above attributes": (lambda: w.marginals(64, 2), "domain='2^6'"),
    "parity order": (lambda: w.parity("2^3", 4), "from 0 to 3"),
    "negative order": (lambda: w.marginals("2^3", -1), "the order is -1"),
    "zero weight": (lambda: w.weighted(w.prefix(3), 0), "the weight is 0"),
    "nan weight": (lambda: w.weighted(w.prefix(3), NAN), "the weight is nan"),
    "infinite weight": (lambda: w.weighted(w.prefix(3), float("inf")), "the weight is inf"),
    "text weight": (lambda: w.weighted(w.prefix(3), "2"), "the weight is '2'"),  # type: ignore[arg-type]
    "tiny weight": (lambda: w.weighted(w.prefix(3), 1e-200), "1e-200"),
    "empty stack": (lambda: w.stack([]), "given nothing"),
    "empty kron": (lambda: w.kron([]), "given nothing"),
    "kron of a number": (lambda: w.kron([w.total(2), 3]), "Total, int"),  # type: ignore[list-item]
    "stack of different sizes": (lambda: w.stack([w.prefix(3), w.prefix(4)]), "3 and 4"),
    "stack of different names": (lambda: w.stack([w.total({"a": 3}), w.total({"b": 3})]), "a=3 and b=3"),
    "zero matrix": (lambda: w.explicit(np.zeros((2, 3))), "only zeros"),
    "nan matrix": (lambda: w.explicit([[1.0, NAN]]), "NaN or infinite"),
    "vector": (lambda: w.explicit([1.0, 2.0]), "shape (2,)"),
    "empty matrix": (lambda: w.explicit(np.ones((0, 3))), "shape (0, 3)"),
    "complex matrix": (lambda: w.explicit([[1j]]), "complex128"),
    "text matrix": (lambda: w.explicit([["a"]]), "<U1"),  # type: ignore[list-item]
    "masked matrix": (
        lambda: w.explicit(np.ma.masked_array(np.eye(2), mask=np.eye(2))),
        "masked: fill them in",
    ),
    "ragged matrix": (lambda: w.explicit([[1.0], [1.0, 2.0]]), "unequal length"),
    "underflowing matrix": (lambda: w.explicit([[1e-200]]), "rescale"),
    "matrix on another domain": (lambda: w.explicit(np.eye(3), 4), "3 columns for domain 4"),
    "data of the wrong length": (lambda: w.prefix(3).answer(np.ones(4)), "shape (4,)"),
    "scalar data": (lambda: w.prefix(3).answer(1.0), "shape ()"),
    "complex data": (lambda: w.prefix(3).answer([1j, 0, 0]), "complex128"),
    "answers of the wrong length": (lambda: w.total(3).adjoint(np.ones(3)), "(1,) or (1, k)"),
    "users outside the domain": (lambda: w.prefix(3).answer_users([[0], [3]]), "from 0 to size - 1"),
    "users below zero": (lambda: w.prefix(3).answer_users([[-1]]), "from 0 to size - 1"),
    "fractions of users": (lambda: w.prefix(3).answer_users([[0.5]]), "float64"),
    "users of other attributes": (lambda: w.parity("2^3").answer_users([[0, 1]]), "each of 3 attributes"),
    "users of a long line": (lambda: w.total(2**40).answer_users([[7]]), "a table of users"),
    "large matrix": (lambda: w.all_range(4096).matrix(), "use gram, answer and adjoint"),
    "no dict": (lambda: from_data([1]), "list was given as the kind"),
    "unknown kind": (lambda: from_data({"kind": "os.system"}), "'os.system' was given as the kind"),
    "unhashable kind": (lambda: from_data({"kind": ["prefix"]}), "['prefix'] was given"),
    "missing key": (lambda: from_data({"kind": "prefix"}), "exactly kind, domain"),
    "extra key": (lambda: from_data({**PREFIX, "extra": 1}), "'extra'"),
    "domain no list": (lambda: from_data({**PREFIX, "domain": 3}), "a domain was given as int"),
    "domain no pairs": (lambda: from_data({**PREFIX, "domain": [3]}), "not pairs"),
    "domain name list": (
        lambda: from_data({**PREFIX, "domain": [[["a"], 3]]}),
        "as the name",
    ),
    "domain size text": (lambda: from_data({**PREFIX, "domain": [["a", "3"]]}), "is '3'"),
    "parts no list": (lambda: from_data({"kind": "stack", "parts": PREFIX}), "is a list"),
    "parts empty": (lambda: from_data({"kind": "stack", "parts": []}), "given nothing"),
    "orders no list": (
        lambda: from_data({**MARGINALS, "orders": 1}),
        "is a list",
    ),
    "orders empty": (
        lambda: from_data({**MARGINALS, "orders": []}),
        "no orders",
    ),
    "too deep": (lambda: from_data(nested(100_000)), "nested deeper"),
    "saved too deep": (lambda: to_data(deep_stack(60)), "nested deeper"),
    "matrix no table": (lambda: from_data({**EXPLICIT, "rows": [[1]]}), "exactly shape and float64"),
    "weight nan": (
        lambda: from_data({**WEIGHTED, "weight": NAN}),
        "weight is nan",
    ),
    "something else to save": (lambda: to_data(3), "int was given"),  # type: ignore[arg-type]
}

SHAPES = [[2**60, 2**60], [1], [1, 2, 3], [-1, -2], [1.0, 2], [True, 2], [2, 2], "12", [2**52, 1]]
TEXTS = ["!", "é", 3, None, "AAAA", ["AAAA"]]


def deep_stack(depth):
    workload = w.prefix(3)
    for _ in range(depth):
        workload = w.stack([workload])
    return workload


def sentence_of(action):
    with pytest.raises(ValueError, match=r".") as error:
        action()
    sentence = str(error.value)
    assert "\n" not in sentence
    assert len(sentence) < 400
    return sentence


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_one_sentence(case):
    action, fragment = REFUSED[case]
    assert fragment in sentence_of(action)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_hostile_shapes(shape):
    sentence_of(lambda: from_data({**EXPLICIT, "rows": {**EXPLICIT["rows"], "shape": shape}}))


@pytest.mark.parametrize("text", TEXTS, ids=str)
def test_hostile_matrix_text(text):
    sentence_of(lambda: from_data({**EXPLICIT, "rows": {"shape": [1, 2], "float64": text}}))


def test_nan_inside_a_matrix_of_data():
    data = to_data(w.explicit([[1.0]]))
    data["rows"]["float64"] = "AAAAAAAA+H8="
    assert "NaN" in sentence_of(lambda: from_data(data))


def test_an_explicit_matrix_is_copied_and_read_only():
    rows = np.eye(3)
    workload = w.explicit(rows)
    rows[0, 0] = 5.0
    assert workload.gram()[0, 0] == 1.0
    assert not workload.rows.flags.writeable  # type: ignore[attr-defined]
