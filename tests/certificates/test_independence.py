"""The checker stands alone: it imports nothing of the builder, and works when everything of the builder is broken."""

import ast
import inspect
import sys
from pathlib import Path

import pytest

import anyformer as af

PACKAGE = Path(af.__file__).parent


def imported_by(name: str) -> set[str]:
    """The modules of the package that a module imports, wherever the import stands."""
    place = PACKAGE.joinpath(*name.split(".")[1:])
    source = (place / "__init__.py" if place.is_dir() else place.with_suffix(".py")).read_text()
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {one for one in found if one.startswith("anyformer.") and exists(one)}


def exists(name: str) -> bool:
    place = PACKAGE.joinpath(*name.split(".")[1:])
    return place.is_dir() or place.with_suffix(".py").is_file()


def reached_from(start: str) -> set[str]:
    """All modules that a module needs, directly or through others."""
    reached, waiting = set(), {start}
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting |= imported_by(name) - reached
    return reached


def test_nothing_of_the_builder_is_reached_from_the_checker():
    reached = reached_from("anyformer.certificates.checker")
    assert {"anyformer.certificates.bounds.bound", "anyformer.certificates.programs.error_bound"} <= reached
    assert "anyformer.certificates.interpolation.bound" in reached
    assert not [name for name in reached if name.startswith(("anyformer.construction", "anyformer.model"))]


def test_the_builder_proves_with_what_the_checker_uses():
    """The other direction: both derive the bound by one function, and the test above can fail."""
    reached = reached_from("anyformer.model")
    assert {"anyformer.certificates.bounds.bound", "anyformer.certificates.programs.error_bound"} <= reached
    assert {"anyformer.construction.plans.table_network", "anyformer.construction.compiling.writer"} <= reached


def broken(*_, **__):
    raise RuntimeError("this must not be called")


def break_everything(monkeypatch, package: str) -> None:
    """Every function and method of a package raises from now on, under whatever name it was imported."""
    for name, module in list(sys.modules.items()):
        if not name.startswith("anyformer"):
            continue
        for key, value in list(vars(module).items()):
            if inspect.isfunction(value) and value.__module__.startswith(package):
                monkeypatch.setattr(module, key, broken)
            elif inspect.isclass(value) and value.__module__ == name and name.startswith(package):
                for method in [one for one, held in vars(value).items() if inspect.isfunction(held)]:
                    monkeypatch.setattr(value, method, broken)


# Where the bound of each kind of network is derived.
PROOFS = {
    "averaging": "anyformer.certificates.bounds",
    "compile": "anyformer.certificates.programs",
    "interpolation": "anyformer.certificates.interpolation",
}


@pytest.fixture(params=PROOFS)
def method(request):
    return request.param


@pytest.fixture
def folder(method, tmp_path):
    return af.construct(af.targets.centre(tokens=2), 0.3, method=method).save(tmp_path / "model")


def test_a_model_is_verified_with_the_builder_broken(folder, method, monkeypatch):
    break_everything(monkeypatch, "anyformer.construction")
    with pytest.raises(RuntimeError, match="must not be called"):
        af.construct(af.targets.centre(tokens=2), 0.3, method=method)
    assert af.load(folder).verify().verdict is af.Verdict.PROVED


def test_the_test_above_can_fail(folder, method, monkeypatch):
    model = af.load(folder)
    break_everything(monkeypatch, PROOFS[method])
    with pytest.raises(RuntimeError, match="must not be called"):
        model.verify()
