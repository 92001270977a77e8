"""Matrices from elsewhere: read from their files, refused by how much they are off, repaired, made exact."""

import numpy as np
import pytest
import scipy.sparse

import stratagem as st
from stratagem.mechanism.export.saved import StoredStrategy, save
from stratagem.mechanism.matrix_import import import_matrix, repaired
from stratagem.mechanism.matrix_input import read_probabilities
from stratagem.strategies.two_level import two_levels
from tables import assert_private, random_ldp_matrix

N = 6
W = st.prefix(N)
RNG = np.random.default_rng(7)
BY_HAND = (np.ones((N, N)) + (np.exp(1.0) - 1) * np.eye(N)) / (np.exp(1.0) + N - 1)
SOLVED = st.optimise(W, 1.0, st.Certified(max_steps=2)).strategy.dense().matrix
DRIFTED = BY_HAND**1.01 / (BY_HAND**1.01).sum(axis=0)  # measures epsilon 1.01

GOOD = {
    "randomised response by hand": BY_HAND,
    "solver": SOLVED,
    "random": random_ldp_matrix(RNG, 15, N, 1.0),
    "uniform rows": np.vstack([BY_HAND / 2, np.full((1, N), 0.5)]),
    "zero row": np.vstack([BY_HAND, np.zeros((1, N))]),
    "private enough": st.published.randomised_response(N, 0.5).matrix,
    "ten digits": np.round(st.published.randomised_response(N, 0.5).matrix, 10),
}
BAD = {
    "scaled by 1.01": (BY_HAND * 1.01, "sum to one, the worst is off by 0.01", 0.006),
    "six digits": (np.round(SOLVED, 6), "sum to one, the worst is off by", 1e-3),
    "epsilon over": (DRIFTED, "measures epsilon 1.01, 0.01 above 1", 0.01),
    "epsilon over by 1e-9": (
        st.optimise(W, 1 + 1e-9, st.Certified(max_steps=2)).strategy.dense().matrix,
        "measures epsilon 1.000000001, 1e-09 above 1",
        1e-9,
    ),
    "dust below zero": (
        np.vstack([BY_HAND, np.full((1, N), -1e-18)]),
        "below zero, the least is -1e-18",
        1e-14,
    ),
    "negative": (BY_HAND - 0.2 * np.eye(N, k=1), "below zero, the least is -0.0704", 0.3),
    "identity": (np.eye(N), "a zero beside a positive entry", 0.7),
    "rare output cut to zero": (
        np.vstack([BY_HAND * (1 - 1e-6), np.eye(1, N) * 1e-6 + 1e-7]) / (1 - 1e-6 + 1e-7),
        "sum to one",
        1e-5,
    ),
    "random, not private": (RNG.dirichlet(np.ones(12), N).T, "measures epsilon", 0.5),
}


@pytest.mark.parametrize("repair", [False, True])
@pytest.mark.parametrize("name", GOOD)
def test_a_strategy_is_adopted_as_it_is(name, repair):
    found = import_matrix(GOOD[name], W, 1.0, repair=repair)
    assert (found.moved, found.loss) == (0.0, 0.0)
    strategy = found.mechanism.strategy
    assert_private(strategy, 1 + 1e-15)
    given = GOOD[name][GOOD[name].max(axis=1) > 0]
    assert np.abs(strategy.dense().matrix - given).max() < 1e-8
    assert 0 <= found.mechanism.client.randomise(N - 1)["output"] < found.mechanism.outputs


@pytest.mark.parametrize("name", BAD)
def test_anything_else_is_refused_saying_by_how_much(name):
    matrix, words, _ = BAD[name]
    with pytest.raises(ValueError, match=words) as refusal:
        import_matrix(matrix, W, 1.0)
    assert str(refusal.value).endswith("or ask for a repair, which moves it to the private side")


@pytest.mark.parametrize("name", BAD)
def test_a_repair_is_private_and_near(name):
    matrix, _, most = BAD[name]
    found = import_matrix(matrix, W, 1.0, repair=True)
    assert 0 < found.moved <= most
    assert_private(found.mechanism.strategy, 1 + 1e-15)
    after = repaired(matrix, 1.0)
    assert found.moved == pytest.approx(np.abs(after - matrix).sum(axis=0).max() / 2)
    value = st.evaluate(W, st.strategies.MatrixStrategy(after)).objective
    assert float(found.mechanism.utility["unrounded"]) == pytest.approx(value)
    scaled = np.maximum(matrix, 0) / np.maximum(matrix, 0).sum(axis=0)
    before = st.evaluate(W, st.strategies.MatrixStrategy(scaled)).objective
    assert found.loss == pytest.approx(value / before - 1)


def test_a_repair_leaves_strategies_alone_and_makes_randomised_response_of_the_identity():
    for matrix in GOOD.values():
        if (
            abs(matrix.sum(axis=0) - 1).max() < 1e-12
            and st.strategies.MatrixStrategy(matrix).epsilon < 1 - 1e-14
        ):
            assert np.abs(repaired(matrix, 1.0) - matrix).max() < 1e-13
    for epsilon in (0.1, 1.0, 4.0):
        expected = st.published.randomised_response(N, epsilon).matrix
        assert np.abs(repaired(np.eye(N), epsilon) - expected).max() < 1e-14


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 2.0, 8.0])
@pytest.mark.parametrize("seed", range(5))
def test_every_repair_holds_epsilon(epsilon, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(rng.integers(2, 20), rng.integers(2, 9))) * rng.choice([1e-9, 1, 1e9])
    assert_private(st.strategies.MatrixStrategy(repaired(matrix, epsilon)), epsilon)


def test_a_repair_costs_no_more_than_mixing_with_the_mean():
    """The textbook repair: keep the report with probability 1 - t, else draw it from the mean of the columns."""
    for name in ("epsilon over", "identity", "random, not private"):
        Q = BAD[name][0]
        mean, E = Q.mean(axis=1, keepdims=True), np.exp(1.0)
        excess = np.maximum(Q.max(axis=1, keepdims=True) - E * Q.min(axis=1, keepdims=True), 0)
        t = (excess / (excess + (E - 1) * mean)).max()
        mixed = st.evaluate(W, st.strategies.MatrixStrategy((1 - t) * Q + t * mean)).objective
        assert st.evaluate(W, st.strategies.MatrixStrategy(repaired(Q, 1.0))).objective <= mixed * (1 + 1e-9)


NEVER = {
    "nan": (np.where(np.eye(N) > 0, np.nan, 0.1), "6 entries that are no finite numbers"),
    "infinite": (np.where(np.eye(N) > 0, np.inf, 0.1), "no finite numbers"),
    "zeros": (np.zeros((3, N)), "no entry above zero"),
    "all negative": (-BY_HAND, "no entry above zero"),
    "transposed": (random_ldp_matrix(RNG, 9, N, 1.0).T, "say that it is transposed"),
    "another size": (np.full((2, 4), 0.5), "4 user types, but the workload has 6"),
    "flat": (np.ones(N), r"shape \(6,\)"),
    "empty": (np.ones((0, N)), "outputs x user types"),
    "complex": (BY_HAND + 0j, "complex128"),
    "texts": (np.full((N, N), "a"), "matrix of numbers"),
    "ragged": ([[1, 2], [3]], "matrix of numbers"),
}


@pytest.mark.parametrize("repair", [False, True])
@pytest.mark.parametrize("name", NEVER)
def test_no_repair_guesses(name, repair):
    matrix, words = NEVER[name]
    with pytest.raises(ValueError, match=words):
        import_matrix(matrix, W, 1.0, repair=repair)


def test_transposed_is_said_never_guessed():
    matrix = random_ldp_matrix(RNG, 9, N, 1.0)
    found = import_matrix(matrix.T, W, 1.0, transposed=True).mechanism
    assert np.abs(found.strategy.dense().matrix - matrix).max() < 1e-8


def test_a_matrix_that_cannot_answer_is_refused():
    with pytest.raises(st.UnsupportedWorkloadError):
        import_matrix(np.full((2, N), 0.5), W, 1.0)


def test_options_reach_the_mechanism():
    prior = np.arange(1, N + 1)
    asked = st.prefix(st.bins([0, 1, 2, 3, 4, 5, 9]))
    made = import_matrix(BY_HAND, asked, 1.0, name="delays", prior=prior).mechanism
    assert (made.name, made.bundle["domain"][0]["edges"][-1]) == ("delays", "9")
    assert made.prior is not None
    assert made.prior == pytest.approx(prior / prior.sum())


@pytest.mark.parametrize(
    "strategy",
    [
        st.published.randomised_response(5, 1.0),
        st.published.hadamard_response(5, 2.0),
        st.published.hierarchical(9, 0.5),
    ],
)
def test_two_levels_are_found_again(strategy):
    found = two_levels(strategy.dense())
    assert isinstance(found, st.strategies.TwoLevelStrategy)
    assert np.abs(found.dense().matrix - strategy.dense().matrix).max() < 1e-15
    assert found.epsilon <= strategy.epsilon


def test_other_matrices_stay_matrices():
    for matrix in (random_ldp_matrix(RNG, 9, N, 1.0), np.eye(N)):
        strategy = st.strategies.MatrixStrategy(matrix)
        assert two_levels(strategy) is strategy


@pytest.mark.parametrize("prior", [None, np.arange(1.0, N + 1)], ids=["no prior", "prior"])
@pytest.mark.parametrize("name", GOOD)
def test_an_import_says_how_good_the_matrix_is(name, prior):
    found = import_matrix(GOOD[name], W, 1.0, prior=prior)
    bounds = st.lower_bounds(W, 1.0, prior)
    accuracy = st.evaluate(W, found.mechanism.strategy, found.mechanism.prior)
    assert found.objective == pytest.approx(accuracy.objective, rel=1e-9)
    assert found.bounds.best == pytest.approx(bounds.best, rel=1e-9)
    assert found.gap == pytest.approx(accuracy.objective / bounds.best - 1, rel=1e-6)
    assert found.gap >= 0


def test_the_gap_of_an_import_is_that_of_the_search_and_grows_with_a_worse_matrix():
    solution = st.optimise(W, 1.0)
    same = import_matrix(solution.strategy.dense().matrix, W, 1.0)
    assert same.gap == pytest.approx(solution.gap, abs=1e-5)
    assert import_matrix(BY_HAND, W, 1.0).gap > same.gap + 0.1
    assert import_matrix(GOOD["private enough"], W, 1.0).gap > import_matrix(BY_HAND, W, 1.0).gap + 0.1


@pytest.mark.parametrize("given", [BY_HAND, scipy.sparse.csr_array(BY_HAND), BY_HAND.tolist()])
def test_the_number_of_values_is_that_of_the_matrix(given):
    assert import_matrix(given, "prefix", 1.0).mechanism.workload == W
    assert import_matrix(given, "prefix", 1.0, domain="age=6").mechanism.domain.names == ("age",)
    tall = random_ldp_matrix(np.random.default_rng(1), 9, N, 1.0)
    assert import_matrix(tall.T, "prefix", 1.0, transposed=True).mechanism.workload == W
    with pytest.raises(ValueError, match="6 user types, but the workload has 7"):
        import_matrix(given, "prefix", 1.0, domain=7)


def write(path, matrix, name="strategy"):
    match path.suffix:
        case ".npy":
            np.save(path, matrix)
        case ".npz":
            np.savez(path, **{name: matrix})
        case ".csv":
            np.savetxt(path, matrix, fmt="%.17g", delimiter=",")
        case ".mat":
            from scipy.io import savemat

            savemat(path, {name: matrix}, do_compression=True)
        case ".parquet":
            import pandas

            frame = pandas.DataFrame(matrix, columns=[f"p{u}" for u in range(matrix.shape[1])])
            frame.to_parquet(path)
    return path


SUFFIXES = (".npy", ".npz", ".csv", ".mat", ".parquet")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_is_read_to_the_last_bit(tmp_path, suffix):
    assert (read_probabilities(write(tmp_path / f"q{suffix}", SOLVED)) == SOLVED).all()


def test_the_order_of_a_table_is_its_column_output(tmp_path):
    import pandas

    frame = pandas.DataFrame({"output": [2, 0, 1], "a": [3.0, 1, 2], "b": [6, 4, 5]})
    frame.to_parquet(tmp_path / "q.parquet")
    assert read_probabilities(tmp_path / "q.parquet").tolist() == [[1, 4], [2, 5], [3, 6]]


HEADED = {
    "its order": ("output,a,b\n2,3,6\n0,1,4\n1,2,5\n", [[1, 4], [2, 5], [3, 6]]),
    "its place": ("a, output ,b\n3,1,6\n1,0,4\n", [[1, 4], [3, 6]]),
    "other names": ("x,a,b\n2,3,6\n0,1,4\n", [[2, 3, 6], [0, 1, 4]]),
    "no names": ("2,3,6\n0,1,4\n", [[2, 3, 6], [0, 1, 4]]),
    "empty lines": ("output,a\n\n1,3\n\n0,2\n", [[2], [3]]),
}


@pytest.mark.parametrize("name", HEADED)
def test_a_header_may_name_the_column_output(tmp_path, name):
    text, expected = HEADED[name]
    (tmp_path / "q.csv").write_text(text)
    assert read_probabilities(tmp_path / "q.csv").tolist() == expected


def test_tables_of_a_matrix_have_the_same_columns(tmp_path):
    import pandas

    stored = StoredStrategy(st.strategies.MatrixStrategy(SOLVED), 1.0, W, "prefix")
    csv, parquet = save(tmp_path / "q.csv", stored), save(tmp_path / "q.parquet", stored)
    one, other = pandas.read_csv(csv), pandas.read_parquet(parquet)
    assert list(one.columns) == list(other.columns) == ["output", *(f"u{u}" for u in range(N))]
    assert one.to_numpy() == pytest.approx(other.to_numpy(), rel=1e-14)
    assert (read_probabilities(csv) == SOLVED).all()
    assert (read_probabilities(parquet) == SOLVED).all()


@pytest.mark.parametrize("suffix", [".npz", ".mat"])
def test_the_variable_is_the_only_one_or_named(tmp_path, suffix):
    path = tmp_path / f"q{suffix}"
    assert (read_probabilities(write(path, SOLVED, "anything")) == SOLVED).all()
    if suffix == ".npz":
        np.savez(path, a=BY_HAND, b=SOLVED)
    else:
        from scipy.io import savemat

        savemat(path, {"a": BY_HAND, "b": SOLVED})
    assert (read_probabilities(path, "b") == SOLVED).all()
    with pytest.raises(ValueError, match=r"holds the variables a, b: name the one to read, variable='a'$"):
        read_probabilities(path)
    with pytest.raises(ValueError, match="'c' was asked for, and it holds a, b"):
        read_probabilities(path, "c")


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04", b"PAR1", b"MATLAB 5.0" + b"\0" * 200])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_that_are_no_matrices_are_refused(tmp_path, suffix, content):
    path = tmp_path / f"q{suffix}"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="q"):
        read_probabilities(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_cut_short_is_refused(tmp_path, suffix):
    path = write(tmp_path / f"q{suffix}", SOLVED)
    path.write_bytes(path.read_bytes()[: -(path.stat().st_size // 3)])
    with pytest.raises(ValueError, match=rf"q{suffix}"):
        read_probabilities(path)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damaged_files_are_read_or_refused_in_one_line(tmp_path, suffix):
    rng, path = np.random.default_rng(3), tmp_path / f"q{suffix}"
    whole = write(path, SOLVED[:5]).read_bytes()
    for _ in range(100):
        damaged = np.frombuffer(whole, dtype=np.uint8).copy()
        damaged[rng.integers(len(damaged), size=3)] = rng.integers(256, size=3)
        path.write_bytes(damaged.tobytes())
        try:
            read_probabilities(path)
        except ValueError as refusal:
            assert "\n" not in str(refusal)  # noqa: PT017


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_missing_file_is_named(tmp_path, suffix):
    with pytest.raises(ValueError, match="cannot be read"):
        read_probabilities(tmp_path / f"absent{suffix}")


def test_other_suffixes_and_needless_variables_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"only \.npy, \.npz, \.csv, \.mat, \.parquet"):
        read_probabilities(tmp_path / "q.pkl")
    with pytest.raises(ValueError, match="single matrix"):
        read_probabilities(write(tmp_path / "q.csv", SOLVED), "a")


def test_texts_in_a_table_are_refused(tmp_path):
    import pandas

    pandas.DataFrame({"a": ["x", "y"]}).to_parquet(tmp_path / "q.parquet")
    with pytest.raises(ValueError, match="write a column of numbers a user type"):
        read_probabilities(tmp_path / "q.parquet")


def written(folder, kind):
    """Return a file that holds no plain matrix of reports and user types."""
    if kind == "sparse":
        scipy.sparse.save_npz(folder / "q.npz", scipy.sparse.csr_array(BY_HAND))
        return folder / "q.npz"
    if kind == "cube":
        np.save(folder / "q.npy", np.zeros((2, 3, 4)))
        return folder / "q.npy"
    names = ",".join(map(str, range(N)) if kind == "numbered" else (f"u{k}" for k in range(N)))
    lines = [f"{k}," + ",".join(map(str, row)) for k, row in enumerate(BY_HAND)]
    (folder / "q.csv").write_text("\n".join([f",{names}", *lines]) + "\n")
    return folder / "q.csv"


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("sparse", r"it holds a sparse matrix of SciPy: .*matrix\.toarray\(\)$"),
        ("cube", r"array of shape \(2, 3, 4\), but a strategy is a matrix, reports x user types: give one$"),
        ("numbered", r"first column without a name, an index: write the file without it"),
        ("named", r"first column without a name, an index: write the file without it"),
    ],
)
def test_what_is_no_plain_matrix_is_refused_with_what_to_do(tmp_path, kind, said):
    path = written(tmp_path, kind)
    with pytest.raises(ValueError, match=said) as refused:
        read_probabilities(path)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)
