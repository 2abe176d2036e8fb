"""The house keeps its order: folders import downwards only, the core stays light, and these tests can fail."""

import ast
import builtins
import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import anyformer as af
from anyformer import errors

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "anyformer"
SPINE = [
    "errors",
    "extras",
    "arrays",
    "atomic",
    "rebuilding",
    "notebooks",
    "pictures",
    "whole_numbers",
    "strict_json",
    "saved_folders",
    "settings",
    "catalogues",
    "user_code",
    "installed",
    "vector_code",
    "workers",
    "intervals",
    "patterns",
    "networks",
    "runtime",
    "targets",
    "programs",
    "certificates",
    "construction",
    "labels",
    "exports",
    "explorer",
    "proving",
    "model",
    "comparison",
    "parity",
    "zoo",
    "attention",
    "mixers",
    "training",
    "contextuality",
    "reports",
    "cli",
]
# The same within a folder that has sub-folders.
WITHIN = {
    "intervals": [
        *("runs", "errors", "memory", "ends", "conditions", "rules", "supported"),
        *("ufuncs", "calls", "callers", "slopes", "methods", "arrays", "following", "boxes"),
    ],
    "intervals.slopes": [
        *("forms", "elementwise", "elementwise_of_two", "orders", "reductions", "movement", "table", "calls"),
    ],
    "intervals.rules": [
        *("rounding", "undefined", "arguments", "movement", "elementwise", "reductions", "linear_algebra"),
    ],
    "patterns": [
        *("sizes", "neighbours", "tiling", "pattern", "arrangement"),
        *("families", "catalogue", "exchange", "universality", "bottlenecks", "designing", "battery", "drawing"),
    ],
    "targets": [
        *("sizes", "domains", "moduli", "evaluation", "target", "ranges", "load"),
        *("equivariant", "positional", "attention_layer", "catalogue", "checks"),
    ],
    "programs": [
        *("numbers", "steps", "forms", "program", "functions", "constants", "rewriting", "builder"),
        *("jets", "roots", "curves", "ranges", "text", "values", "sorting", "kuhn", "derivatives", "tracing"),
    ],
    "programs.tracing": [
        *("runs", "axes", "pairs", "traced", "broadcasting", "rules", "calls", "methods", "arrays"),
        *("pruning", "checks", "tracer"),
    ],
    "programs.tracing.pairs": ["fixed", "multilinear", "products", "heads", "pair_forms", "sums"],
    "programs.tracing.rules": [
        *("unrolling", "elementwise", "conditions", "interpolation", "movement", "indexing", "joining"),
        *("reductions", "orders", "moments", "linear_maps", "contractions", "refusals", "supported"),
    ],
    "certificates": ["propagation", "bounds", "programs", "interpolation", "claims", "checker", "contextual_map"],
    "construction": [
        *("dyadic", "reach", "request", "refusal", "grids", "codes", "stages", "contexts", "compiling"),
        *("plans", "methods", "planning", "asking"),
    ],
    "labels": ["place", "label", "values", "source", "labels", "programs", "tables", "making"],
    "exports": [
        *("config_fields", "config", "layout", "tensors", "placing", "folder", "proved"),
        *("pytorch", "huggingface", "stock", "transformer_lens", "onnx", "vnnlib", "formats"),
    ],
    "parity": ["inputs", "rows", "rounding", "runners", "comparing"],
    "attention": [
        *("kernels", "threads", "compiled", "gathered", "backends", "plans", "explain", "operator"),
        *("flex", "sparse", "reference"),
        *("widening", "module", "huggingface"),
    ],
    "training": ["data", "run", "tasks", "evaluation", "copying", "recall", "comparison", "sparse_lm"],
    "training.comparison": [
        *("near_duplicates", "entailment", "baselines", "statistics", "budgets", "entrants", "jobs", "experiment"),
        *("results", "learning_words", "learning_entailment", "runs"),
    ],
    "contextuality": [
        *("places", "nearest", "closest", "indexing", "band", "pairs", "similarity", "sequences", "layers", "report"),
        *("models", "sensitivity", "witnesses", "measure", "controls"),
    ],
    "reports": [
        *("layout", "terminal", "stages", "catalogue", "patterns", "programs", "plans", "models", "verification"),
        *("training", "mixers", "copying", "recall", "sparse_lm", "tracing", "comparisons", "parity", "zoo", "figures"),
        *("evaluation", "contextuality"),
    ],
    "cli": [
        *("help_texts", "numbers", "effort", "workforce", "sequences", "output", "failures", "plugins"),
        *("options", "training_log", "watching", "verbs", "main"),
    ],
}
HEAVY = (
    "torch",
    "ortools",
    "networkx",
    "transformers",
    "numba",
    "distributed",
    "cloudpickle",
    "scipy",
    "typer",
    "rich",
    "pandas",
    "matplotlib",
    "onnx",
    "onnxruntime",
    "faiss",
)


def is_exception(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def imported_parts(source: str, package: str = "anyformer") -> set[str]:
    """What a source file imports directly below a package, wherever the import stands."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        below = [name.removeprefix(f"{package}.") for name in names if name.startswith(f"{package}.")]
        found |= {name.split(".")[0] for name in below}
    return found


def upward_imports(part: str, source: str, folder: str | None = None) -> set[str]:
    """Parts of the package, or of one of its folders, that come after this one and are imported by it."""
    order, package = (SPINE, "anyformer") if folder is None else (WITHIN[folder], f"anyformer.{folder}")
    return imported_parts(source, package) & set(order[order.index(part) + 1 :])


def parts_of(place: Path) -> set[str]:
    """The files and sub-folders of a folder, as they are imported."""
    found = {path.relative_to(place).parts[0].removesuffix(".py") for path in place.rglob("*.py")}
    return found - {"__init__"}


def test_folders_import_only_from_earlier_ones():
    for path in PACKAGE.rglob("*.py"):
        part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if part == "__init__":
            continue
        assert not upward_imports(part, path.read_text()), path.name


@pytest.mark.parametrize("folder", WITHIN)
def test_sub_folders_import_only_from_earlier_ones(folder):
    place = PACKAGE.joinpath(*folder.split("."))
    assert parts_of(place) == set(WITHIN[folder])
    for path in place.rglob("*.py"):
        part = path.relative_to(place).parts[0].removesuffix(".py")
        if part == "__init__":
            continue
        assert not upward_imports(part, path.read_text(), folder), path


def test_this_test_can_fail():
    assert upward_imports("certificates", "def f():\n    from anyformer.construction import plan\n") == {"construction"}
    assert upward_imports("networks", "import anyformer.targets.target") == {"targets"}
    source = "from anyformer.patterns import universality\nfrom anyformer.patterns.exchange.arrays import csr\n"
    assert upward_imports("families", source, "patterns") == {"exchange", "universality"}
    assert upward_imports("universality", source, "patterns") == set()
    source = "from anyformer.intervals.rules.reductions.sums import count\n"
    assert upward_imports("elementwise", source, "intervals.rules") == {"reductions"}
    assert upward_imports("linear_algebra", source, "intervals.rules") == set()


def test_the_checker_imports_nothing_of_the_builder():
    files = list((PACKAGE / "certificates").rglob("*.py"))
    assert PACKAGE / "certificates" / "bounds" / "bound.py" in files
    for path in files:
        assert "construction" not in imported_parts(path.read_text()), path


ERRORS = {name for name, value in {**vars(builtins), **vars(errors)}.items() if is_exception(value)}
# These record themselves in the run that they end, which a leaf cannot know.
ERRORS_ELSEWHERE = {"IntervalError", "UnknownAttributeError"}


def public_errors(source: str) -> set[str]:
    """The exceptions that a source file defines for others to catch."""
    classes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)]
    known = ERRORS | ERRORS_ELSEWHERE
    found = {node.name for node in classes if {ast.unparse(base).split(".")[-1] for base in node.bases} & known}
    return {name for name in found if not name.startswith("_")}


def test_every_error_is_in_one_file():
    for path in PACKAGE.rglob("*.py"):
        if path != PACKAGE / "errors.py":
            assert public_errors(path.read_text()) <= ERRORS_ELSEWHERE, path


def test_the_test_of_errors_can_fail():
    assert public_errors("import errors\nclass A(errors.TargetError): ...\nclass B(Exception): ...") == {"A", "B"}
    assert public_errors("class C(dict): ...\nclass _D(ValueError): ...") == set()


def loaded_after(statement: str) -> set[str]:
    script = f"import sys; {statement}; print('\\n'.join(sys.modules))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in result.stdout.split()}


def test_importing_the_package_stays_light():
    assert not loaded_after("import anyformer") & set(HEAVY)


def test_the_lightness_test_can_fail():
    assert "scipy" in loaded_after("import anyformer, scipy")


def test_every_public_name_exists_and_is_documented():
    for name in af.__all__:
        assert getattr(af, name).__doc__, name


@pytest.mark.parametrize("name", [*SPINE[: SPINE.index("intervals")], "strict_json.floats", "strict_json.reading"])
def test_the_examples_of_the_smallest_modules_run(name):
    assert doctest.testmod(importlib.import_module(f"anyformer.{name}")).failed == 0


def test_the_readme_is_short_and_its_python_runs(tmp_path, monkeypatch):
    text = (ROOT / "README.md").read_text()
    assert text.count("\n") <= 150
    assert text.index("make demo") < text.index("make test") < 800
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in text.split("```python\n")[1:]:
        exec(block.split("```")[0], names)


@pytest.mark.parametrize("name", ["LICENSE", "CITATION.cff", "CHANGELOG.md", "ARCHITECTURE.md", "docs/glossary.md"])
def test_what_newcomers_look_for_is_there(name):
    assert (ROOT / name).stat().st_size > 0
