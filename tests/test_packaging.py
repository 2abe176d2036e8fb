"""The package as others get it: built, checked, installed outside the checkout; and the workflows that do the same."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import anyformer as af

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# A major version, or the branch that stands for one.
PINNED = re.compile(r"@(v\d+|release/v\d+)$")


def ran(*command: str | Path, cwd: Path) -> str:
    """What a command prints, without this process's import paths. A failure shows everything it said."""
    unset = ("PYTHONPATH", "PYTHONHOME", "PIP_CONSTRAINT")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The source archive, and the wheel that is built from it, from a copy of what is in the repository."""
    pytest.importorskip("build", reason="building the package needs build: pip install build")
    pytest.importorskip("setuptools", minversion="77", reason="licences as SPDX expressions need setuptools 77")
    place = tmp_path_factory.mktemp("package")
    copy = place / "checkout"
    ignored = shutil.ignore_patterns(".git", ".venv*", "build", "*.egg-info", "__pycache__", "node_modules", ".*_cache")
    shutil.copytree(ROOT, copy, ignore=ignored)
    ran(sys.executable, "-m", "build", "--no-isolation", "--outdir", place / "dist", copy, cwd=place)
    return place / "dist"


def the_one(folder: Path, suffix: str) -> Path:
    (found,) = folder.glob(f"*{suffix}")
    return found


@pytest.mark.slow
def test_the_wheel_has_the_package_and_nothing_else(built):
    with zipfile.ZipFile(the_one(built, ".whl")) as wheel:
        names = set(wheel.namelist())
        (metadata,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        stated = Parser().parsestr(wheel.read(metadata).decode())
    source = ROOT / "src"
    wanted = {path.relative_to(source).as_posix() for path in (source / "anyformer").rglob("*") if path.is_file()}
    wanted = {name for name in wanted if "__pycache__" not in name}
    assert {name for name in names if ".dist-info/" not in name} == wanted
    assert "anyformer/py.typed" in wanted
    assert stated["Version"] == af.__version__
    assert stated["License-Expression"] == "Apache-2.0"
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.mark.slow
def test_the_index_would_take_it(built):
    pytest.importorskip("twine", reason="checking the archives needs twine: pip install twine")
    assert ran(sys.executable, "-m", "twine", "check", "--strict", *built.iterdir(), cwd=built).count("PASSED") == 2


@pytest.mark.slow
def test_it_works_outside_the_checkout(built, tmp_path):
    home = tmp_path / "home"
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    (site,) = home.glob("lib/python*/site-packages")
    # Its dependencies are those of this environment; a line here brings in a folder, not the editable installs in it.
    (site / "dependencies.pth").write_text("\n".join(library_folders()) + "\n")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", "--quiet"]
    ran(*pip, "--disable-pip-version-check", the_one(built, ".whl"), cwd=tmp_path)
    where = ran(python, "-c", "import anyformer; print(anyformer.__file__)", cwd=tmp_path).strip()
    assert Path(where).is_relative_to(home)
    plan = ran(home / "bin" / "anyformer", "plan", "mean-scale", "--tokens", "3", "--epsilon", "0.1", cwd=tmp_path)
    assert plan.startswith("mean-scale on 3 tokens")


def library_folders() -> list[str]:
    """Where this environment has its packages; an environment may be layered on another."""
    own = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    return sorted(own | {path for path in sys.path if path.endswith(("site-packages", "dist-packages"))})


def test_the_build_backend_knows_spdx_licences():
    assert PROJECT["project"]["license"] == "Apache-2.0"
    assert PROJECT["build-system"]["requires"] == ["setuptools>=77"]


def test_the_version_is_stated_once_more_and_agrees():
    assert PROJECT["project"]["version"] == af.__version__


def test_groups_are_the_extras_of_the_same_name():
    extras = PROJECT["project"]["optional-dependencies"]
    assert PROJECT["dependency-groups"] == {name: [f"anyformer[{name}]"] for name in ("dev", "docs")}
    assert {"dev", "docs"} <= set(extras)
    assert "docs" in extras["dev"][0]


def test_pins_lie_within_the_ranges():
    packaging = pytest.importorskip("packaging.requirements")
    pins = dict(
        line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")
    )
    pins = {name.lower().replace("_", "-"): version for name, version in pins.items()}
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = [*PROJECT["project"]["dependencies"], *(one for extra in extras.values() for one in extra)]
    for requirement in map(packaging.Requirement, wanted):
        name = requirement.name.lower().replace("_", "-")
        if name != "anyformer" and name in pins:
            assert requirement.specifier.contains(pins[name]), requirement
    assert {"sphinx", "myst-nb", "furo", "jupytext", "build", "twine"} <= set(pins)


def loaded(text: str) -> dict:
    yaml = pytest.importorskip("yaml", reason="reading workflows needs PyYAML")
    return yaml.safe_load(text)


def faults(workflow: dict) -> list[str]:
    """What a workflow must not do: hold more than reading rights, mint identities elsewhere, follow moving actions."""
    found = [] if workflow.get("permissions") == {"contents": "read"} else ["its own permissions are not reading alone"]
    for name, job in workflow["jobs"].items():
        if job.get("permissions", {}) not in ({}, {"id-token": "write"} if name == "publish" else {}):
            found.append(f"{name} has permissions of its own")
        steps = job["steps"]
        found += [f"{name}: {s['uses']} is not pinned" for s in steps if "uses" in s and not PINNED.search(s["uses"])]
        keeps = [
            s for s in steps if "checkout" in s.get("uses", "") and s.get("with", {}).get("persist-credentials", True)
        ]
        found += [f"{name} keeps credentials"] * len(keeps)
    return found


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_ask_for_little(path):
    assert faults(loaded(path.read_text())) == []


def test_a_greedy_workflow_is_seen():
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    assert faults(loaded(text.replace("contents: read", "contents: write", 1)))
    assert faults(loaded(text.replace("publish:\n    needs", "upload:\n    needs")))
    assert faults(loaded(text.replace("checkout@v4", "checkout@main")))
    assert faults(loaded(text.replace("persist-credentials: false", "fetch-depth: 0")))


def test_ci_tests_every_version_that_is_claimed():
    jobs = loaded((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    tested = jobs["test"]["strategy"]["matrix"]["python"]
    prefix = "Programming Language :: Python :: "
    claimed = [line.removeprefix(prefix) for line in PROJECT["project"]["classifiers"] if line.startswith(prefix)]
    assert tested == claimed == ["3.11", "3.12", "3.13", "3.14"]
    commands = {step.get("run") for job in jobs.values() for step in job["steps"]}
    assert {"make lint", "make test", "make docs"} <= commands
