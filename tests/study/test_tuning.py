"""Published mechanisms by name: tuned as in comparisons, certified, saved, or refused in a sentence."""

import pytest

import stratagem as st
from commands import assert_refused, run, run_json
from stratagem.published import BASELINES
from stratagem.solvers.problem import problem_of
from stratagem.study.literature import cited
from stratagem.study.ranking import rank_baselines
from tables import assert_private

CASES = {"prefix": st.prefix(16), "marginals": st.marginals("2^4", 2), "histogram": st.histogram(7)}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_every_mechanism_of_a_comparison_runs_or_says_why_not(name, epsilon):
    """What has few enough reports becomes a bundle whose client reports; the rest says that it does not."""
    workload = CASES[name]
    for contender in rank_baselines(problem_of(workload, epsilon)):
        if not _fits(contender.strategy):
            with pytest.raises(ValueError, match=r"[Rr]eports") as refusal:
                st.tune(workload, epsilon, contender.mechanism)
            assert "\n" not in str(refusal.value)
            continue
        solution = st.tune(workload, epsilon, contender.mechanism)
        assert solution.objective <= contender.objective * (1 + 1e-9)
        assert solution.objective >= solution.lower_bound * (1 - 1e-9)
        assert_private(solution.strategy, epsilon)
        mechanism = solution.mechanism()
        first = dict.fromkeys(workload.domain.names, 0)
        assert 0 <= mechanism.client.randomise(first)["output"] < mechanism.outputs


def _fits(strategy) -> bool:
    try:
        strategy.dense()
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("baseline", BASELINES, ids=lambda baseline: baseline.name)
def test_names_are_words_with_hyphens_and_references_are_there(baseline):
    assert baseline.name == baseline.name.lower()
    assert " " not in baseline.name
    assert cited(baseline.reference)
    assert baseline.title


def test_an_unknown_name_is_one_sentence():
    with pytest.raises(ValueError, match="hierarchical"):
        st.tune(st.prefix(8), 1.0, "hierarchicl")


def test_a_domain_without_a_gram_matrix_is_refused_in_plain_words():
    for large in (st.all_range(1 << 20), st.marginals("2^60", 2)):
        with pytest.raises(
            ValueError, match=r"hierarchical was asked for over domain .* at most 20000: use coarser"
        ):
            st.tune(large, 1.0, "hierarchical")


COMMAND = ["tune", "prefix", "hierarchical", "--domain", "16", "--epsilon", "1"]


def test_the_command_saves_a_bundle_that_passes_its_audit(tmp_path, capsys):
    file = tmp_path / "tree.ldp.json"
    data = run_json(capsys, *COMMAND, "-o", file)
    assert data["solver"].startswith("hierarchical (branching")
    assert data["objective"] >= data["lower_bound"]
    assert st.load_mechanism(file).strategy.epsilon <= 1


def test_the_command_says_what_it_made(capsys):
    status, out, _ = run(capsys, *COMMAND)
    assert status == 0
    assert "\nproven minimum  " in out
    assert "hierarchical (branching" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tune", "prefix", "rapor", "--domain", "8", "--epsilon", "1"], "not a published mechanism"),
        (["tune", "prefix", "hierarchical", "--domain", "8", "--epsilon", "0"], "epsilon"),
        ([*COMMAND, "-o", "x.docx"], "suffix"),
    ],
)
def test_a_wrong_command_is_one_sentence(arguments, words, capsys):
    assert_refused(capsys, arguments, words)
