"""What people expect beside the code: workflows, checks before a commit, templates; read here, as hosts run them."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tools import need_package

ROOT = Path(__file__).parents[2]
WORKFLOWS = {
    "tests": (".ci/run", "ruff check . && ruff format --check .", "pyright"),
    "docs": ("mkdocs build --strict",),
    "wheels": ("python -m build", "twine check --strict dist/*", "fresh/bin/stratagem optimise"),
}
"""What each workflow must run."""


def read(path: str) -> dict:
    need_package("yaml")
    import yaml

    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def test_every_workflow_is_known():
    assert {path.stem for path in (ROOT / ".github/workflows").iterdir()} == set(WORKFLOWS)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_runs_what_it_is_for_with_few_rights_and_an_end(name):
    workflow = read(f".github/workflows/{name}.yml")
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    ran = "\n".join(step.get("run", "") for step in steps)
    assert all(command in ran for command in WORKFLOWS[name])
    assert workflow["permissions"] == {"contents": "read"}
    assert all(job["timeout-minutes"] <= 90 for job in workflow["jobs"].values())


def test_what_a_workflow_installs_is_an_extra_of_the_project():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for name, extra in (("tests", "exhaustive"), ("docs", "docs")):
        assert f"pip install -e '.[{extra}]'" in (ROOT / f".github/workflows/{name}.yml").read_text("utf-8")
        assert extra in extras


def imported_at_the_top(path):
    """Return the packages that a file cannot be read without."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module).split(".")[0]


def test_what_the_tests_import_is_installed_with_them():
    """An environment where a package is installed by chance hides that a fresh one lacks it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    stated = [*project["dependencies"], *(one for extra in extras for one in extra)]
    declared = {re.split(r"[\[>=<]", one)[0].lower() for one in stated}
    own = {path.stem for folder in ("tests", "docs") for path in (ROOT / folder).rglob("*.py")}
    own |= {path.name for path in (ROOT / "tests").iterdir()} | set(sys.stdlib_module_names)
    names = {name for path in (ROOT / "tests").rglob("*.py") for name in imported_at_the_top(path)} - own
    distributions = packages_distributions()
    assert {"numpy", "pytest", "stratagem"} <= names
    missing = {name for name in names if not declared & {one.lower() for one in distributions.get(name, ())}}
    assert missing <= {"stratagem"}


def test_the_checks_before_a_commit_are_those_of_the_tests():
    hooks = {hook["id"] for repo in read(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]}
    assert {"ruff-check", "ruff-format"} <= hooks


def test_a_report_of_a_fault_is_not_the_place_for_a_flaw_of_privacy():
    assert "SECURITY.md" in (ROOT / ".github/ISSUE_TEMPLATE/bug.yml").read_text("utf-8")
    for name in ("bug", "idea"):
        form = read(f".github/ISSUE_TEMPLATE/{name}.yml")
        assert {"name", "description", "body"} <= set(form)


def test_a_review_of_the_repository_fails_nowhere_but_where_a_reason_is_given():
    need_package("repo_review")
    from repo_review.processor import process

    found = process(ROOT)
    assert len(found.results) > 40
    assert [(one.name, one.err_msg) for one in found.results if one.result is False] == []
    reasons = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["repo-review"]["ignore"]
    assert all(len(reason.split()) > 3 for reason in reasons.values())
