"""The wheel and the source distribution: complete, and at work where nothing else of the house is."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

import stratagem as st

ROOT = Path(__file__).parents[2]
PACKAGE = Path(st.__file__).parent
SHIPPED = {
    "py.typed",
    "study/references.bib",
    "report/plots/paper.mplstyle",
    "io/table.html",
    "report/calculator.html",
    "report/facts.html",
    "report/parts.html",
    "report/report.css",
    "report/results.css",
    "report/report.html",
    "report/report.js",
    "report/results.html",
    "mechanism/bundle.schema.json",
    "mechanism/client.py",
    "mechanism/threat-model.md",
    "mechanism/web/client.js",
    "mechanism/web/page.css",
    "mechanism/web/demo.css",
    "mechanism/web/demo.html",
    "mechanism/web/answer.js",
    "mechanism/web/form.css",
    "mechanism/web/form.html",
    "mechanism/web/form.js",
    "mechanism/web/record.js",
    "mechanism/web/words.js",
    "cli/serve/results.html",
}
"""What a package may lose without any import failing."""
MARK = "pytest.mark." + "smoke"


def run(*command, **options) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, **options)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


def build(source: Path, target: Path, kind: str) -> Path:
    run(sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", target, cwd=source)
    (built,) = target.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("wheel"), "wheel")


@pytest.fixture(scope="module")
def sdist(tmp_path_factory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("sdist"), "sdist")


@pytest.fixture(scope="module")
def unpacked(sdist, tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(target, filter="data")
    (folder,) = target.iterdir()
    return folder


def files(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_holds_every_file_of_the_package_and_both_catalogues(wheel):
    with zipfile.ZipFile(wheel) as archive:
        held = {name.removeprefix("stratagem/") for name in archive.namelist() if ".dist-info" not in name}
    catalogues = {
        f"_catalogue/{kind}/{name}" for kind in ("workloads", "solvers") for name in files(ROOT / kind)
    }
    assert held == files(PACKAGE) | catalogues
    assert held > SHIPPED
    assert {"_catalogue/workloads/prefix.toml", "_catalogue/solvers/auto.toml"} < held


def test_the_source_distribution_holds_what_builds_and_tests_the_package(unpacked):
    for folder in ("src", "workloads", "solvers", "tests", "notebooks", "docs"):
        assert files(unpacked / folder) == files(ROOT / folder)
    assert {"README.md", "SECURITY.md", "LICENSE", "mkdocs.yml", "pyproject.toml", "PKG-INFO"} <= {
        path.name for path in unpacked.iterdir()
    }


@pytest.fixture(params=["wheel", "sdist"])
def installed(request, tmp_path) -> Path:
    """Return the Python of a fresh environment with the distribution and what it depends on, but no checkout."""
    environment = tmp_path / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    python = environment / "bin" / "python"
    places = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    for own in (environment / "lib").glob("python*/site-packages"):
        (own / "beside.pth").write_text("\n".join(sorted(places)) + "\n")  # whose own .pth files are not read
    options = ["--no-index", "--no-deps", "--no-build-isolation", "--no-compile"]
    distribution = request.getfixturevalue(request.param)
    run(
        sys.executable, "-m", "pip", "--python", python, "install", "-q", *options, distribution, cwd=tmp_path
    )
    return python


@pytest.mark.exhaustive
def test_the_smoke_tests_pass_on_an_installed_package_alone(installed, unpacked, tmp_path):
    empty = tmp_path / "empty"
    shutil.copytree(unpacked / "tests", empty / "tests")
    shutil.copy(unpacked / "pyproject.toml", empty)
    home = tmp_path / "environment"
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYTEST"))}
    marked = [
        path for path in sorted(empty.glob("tests/*/test_*.py")) if MARK in path.read_text(encoding="utf-8")
    ]
    smoke = ["-m", "pytest", "-m", "smoke", "-n", "0"]
    printed = run(installed, *smoke, *marked, cwd=empty, env=clean)
    assert f"stratagem from {home}" in printed
    assert " passed" in printed
    assert " skipped" not in printed or "STRATAGEM_REQUIRE_TOOLS" not in os.environ
    listed = run(home / "bin" / "stratagem", "list", cwd=empty, env=clean)
    assert "ages-by-sex" in listed
    run(sys.executable, "-m", "pip", "--python", installed, "uninstall", "-q", "-y", "stratagem", cwd=empty)
    without = subprocess.run(
        [installed, *smoke, "tests/workloads/test_domain.py"],
        cwd=empty,
        env=clean,
        capture_output=True,
        text=True,
    )
    assert without.returncode != 0
    assert "stratagem" in without.stdout + without.stderr
