"""A package that is missing is named with what needs it and how to install it, in Python and on the command line."""

import importlib
import importlib.util
import inspect
import subprocess
import sys

import numpy as np
import pytest

import anyformer as af
from anyformer.cli.main import main
from anyformer.errors import AnyformerError, MissingPackageError
from anyformer.extras import require, when_imported
from anyformer.patterns.universality import cycle_patching
from anyformer.runtime.run import Engine, run
from anyformer.workers import dask_cluster
from tests.random_networks import random_network


def sentence(package, what, extra):
    return (
        rf"^{package} must be installed for {what}; it cannot be imported \(.*\)\."
        rf' Install it: pip install "anyformer\[{extra}\]"\.$'
    )


def without(monkeypatch, *modules):
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)


def in_a_process_without(package, script):
    """What a program ends with that cannot import a package; for what imports it as it is imported itself."""
    blocked = f"import sys; sys.modules[{package!r}] = None\n"
    done = subprocess.run([sys.executable, "-c", blocked + script], capture_output=True, text=True)
    return done.returncode, done.stderr


def test_what_is_there_is_imported():
    assert require("json.decoder", extra="none", what="nothing") is sys.modules["json.decoder"]


def test_what_is_missing_is_an_error_of_ours_and_of_pythons(monkeypatch):
    with pytest.raises(ImportError, match=sentence("nowhere", "dreams", "night")) as caught:
        require("nowhere.at.all", extra="night", what="dreams")
    assert isinstance(caught.value, AnyformerError)
    assert isinstance(caught.value.__cause__, ImportError)
    assert caught.value.name == "nowhere"


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module that nobody has imported; afterwards everything is as it was."""
    (tmp_path / "late_module.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    yield "late_module"
    sys.modules.pop("late_module", None)


def test_what_waits_for_a_module_is_done_once_after_it(module):
    done = []
    finders = [*sys.meta_path]
    for name in ("first", "second"):
        when_imported(module, lambda name=name: done.append((name, sys.modules[module].value)))
    assert importlib.util.find_spec(module) is not None
    assert done == [], "to ask whether it is installed is not to import it"
    import late_module

    assert sorted(done) == [("first", 1), ("second", 1)]
    assert sys.meta_path == finders
    assert inspect.getsource(late_module) == "value = 1\n"
    assert type(late_module.__loader__) is type(late_module.__spec__.loader) is type(inspect.__loader__)
    when_imported(module, lambda: done.append("at once"))
    assert done[2:] == ["at once"]
    importlib.reload(late_module)
    assert len(done) == 3


def test_what_waits_for_a_module_with_a_mistake_waits_on(module, tmp_path):
    done = []
    when_imported(module, lambda: done.append(True))
    when_imported("nowhere", lambda: done.append(True))
    (tmp_path / "late_module.py").write_text("1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        import late_module
    with pytest.raises(ModuleNotFoundError):
        import nowhere  # noqa: F401
    assert done == []
    (tmp_path / "late_module.py").write_text("value = 22\n")
    importlib.invalidate_caches()
    import late_module  # noqa: F401

    assert done == [True]


def test_pictures(monkeypatch, tmp_path):
    without(monkeypatch, "matplotlib.figure")
    with pytest.raises(MissingPackageError, match=sentence("matplotlib", "pictures", "plots")):
        af.patterns.draw(af.patterns.Ring(), tmp_path / "ring.svg", tokens=5)


def test_flex_attention(monkeypatch):
    without(monkeypatch, "torch")
    with pytest.raises(MissingPackageError, match=sentence("torch", "FlexAttention", "bert")):
        af.patterns.block_mask(af.patterns.Ring().at(5))


def test_a_dask_cluster(monkeypatch):
    without(monkeypatch, "distributed")
    with pytest.raises(MissingPackageError, match=sentence("distributed", "a Dask cluster", "cluster")):
        dask_cluster("tcp://127.0.0.1:1").__enter__()


def test_the_compiled_engine(monkeypatch):
    network, x = random_network(1, 5, 3), np.zeros((2, 5, 3))
    without(monkeypatch, "numba")
    with pytest.raises(MissingPackageError, match=sentence("numba", "the compiled engine", "fast")):
        run(network, x, engine=Engine.COMPILED)


@pytest.mark.parametrize("module", ["onnx", "onnxruntime", "onnxscript"])
def test_onnx_files(monkeypatch, tmp_path, module):
    mixers = pytest.importorskip("anyformer.mixers", exc_type=ImportError)
    without(monkeypatch, module)
    with pytest.raises(MissingPackageError, match=sentence(module, "ONNX files", "onnx")):
        mixers.export_onnx(mixers.Average().build(4), tmp_path / "average.onnx")


def test_data_from_the_hub(monkeypatch):
    hub = pytest.importorskip("anyformer.training.data.hub", exc_type=ImportError)
    without(monkeypatch, "datasets")
    with pytest.raises(MissingPackageError, match=sentence("datasets", "reading 'any'", "train")):
        hub.load_rows("any", None, "train")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "statement", "what", "extra"),
    [
        ("torch", "import anyformer.mixers", "mixers", "bert"),
        ("torch", "from anyformer.mixers.average import Average", "mixers", "bert"),
        ("transformers", "from anyformer.mixers import MixerBertModel", "BERT", "bert"),
        ("torch", "import anyformer.training", "training", "train"),
        ("transformers", "import anyformer.training", "training", "train"),
        ("accelerate", "import anyformer.training", "training", "train"),
        ("filelock", "import anyformer.training", "training", "train"),
    ],
)
def test_what_is_needed_at_import(package, statement, what, extra):
    pytest.importorskip("accelerate", reason="needs all but one of them: pip install anyformer[train]")
    code, said = in_a_process_without(package, statement)
    assert code == 1
    last = said.splitlines()[-1]
    assert last.startswith(f"anyformer.errors.MissingPackageError: {package} must be installed for {what}; it cannot")
    assert last.endswith(f'Install it: pip install "anyformer[{extra}]".')


@pytest.mark.parametrize(
    ("modules", "arguments", "extra"),
    [
        (["matplotlib", "matplotlib.figure"], "pattern draw ring --tokens 5 -o ring.svg", "plots"),
        (["matplotlib", "matplotlib.figure"], "curve mean-scale --from 0.3 --to 0.4 -o curve.svg", "plots"),
        (["distributed"], "plan mean-scale --epsilon 0.3 --dask tcp://127.0.0.1:1", "cluster"),
    ],
)
def test_on_the_command_line_it_is_one_sentence(monkeypatch, tmp_path, capsys, modules, arguments, extra):
    without(monkeypatch, *modules)
    monkeypatch.chdir(tmp_path)
    assert main(arguments.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("error: ")
    assert f'pip install "anyformer[{extra}]"' in captured.err


@pytest.mark.slow
@pytest.mark.parametrize("package", ["torch", "transformers", "accelerate"])
@pytest.mark.parametrize(
    "verb",
    [
        *("pretrain -o r", "finetune nowhere -o r --pairs x.tsv", "reproduce mixers -o r --nli x"),
        *("reproduce copying -o r", "reproduce recall -o r", "reproduce sparse-lm -o r"),
        *("evaluate nowhere -o r --pairs x.tsv", "predict nowhere -o r --pairs x.tsv"),
    ],
)
def test_so_it_is_for_verbs_that_train(package, verb):
    script = f"from anyformer.cli.main import main; sys.exit(main({verb.split()!r}))"
    code, said = in_a_process_without(package, script)
    assert code == 2
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    assert said.endswith('Install it: pip install "anyformer[train]".\n')


def test_a_missing_solver_is_named_in_the_report(monkeypatch, capsys):
    without(monkeypatch, "ortools.sat.python.cp_model")
    monkeypatch.setattr(cycle_patching, "_TRIES", 0)  # which would find a path by itself
    assert main(["pattern", "check", "random:seed=1", "--tokens", "12"]) in (0, 1)
    said = " ".join(capsys.readouterr().out.split())
    assert "ortools must be installed for OR-Tools CP-SAT to look for one; it cannot be imported" in said
    assert 'pip install "anyformer[patterns]"' in said
