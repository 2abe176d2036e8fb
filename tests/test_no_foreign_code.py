"""Nothing that is loaded can run code: every call that could says that it must not."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "anyformer"
REMOTE = ("from_pretrained", "load_dataset", "from_config", "pipeline")
PICKLES = {
    "pickle": ("load", "loads", "Unpickler"),
    "joblib": ("load",),
    "dill": ("load", "loads"),
    "shelve": ("open",),
}
# Between a process and its own workers; what arrives there was written by this very run.
TRUSTED = {"workers.py": {"pickle.loads"}}


def faults(source: str, trusted: frozenset[str] | set[str] = frozenset()) -> list[str]:
    """The calls that could run what a file says."""
    found = []
    for node in ast.walk(ast.parse(source)):
        name = dotted(node.func) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and name not in trusted and not is_harmless(name, node):
            found.append(f"{node.lineno}: {name}")
    return found


def is_harmless(name: str, call: ast.Call) -> bool:
    owner, _, last = name.rpartition(".")
    given = {word.arg: getattr(word.value, "value", None) for word in call.keywords}
    if last in REMOTE:
        loads_weights = last == "from_pretrained" and not owner.endswith(("config_class", "Config", "Tokenizer"))
        return given.get("trust_remote_code") is False and (not loads_weights or given.get("use_safetensors") is True)
    if name in ("torch.load", "load"):
        return given.get("weights_only") is True or name == "load"
    if name in ("np.load", "numpy.load"):
        return given.get("allow_pickle") is False
    if owner == "yaml":
        return last not in ("load", "load_all", "unsafe_load", "full_load")
    return last not in PICKLES.get(owner, ()) and name not in ("eval", "exec")


def dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def test_no_call_can_run_what_a_file_says():
    for path in PACKAGE.rglob("*.py"):
        assert not faults(path.read_text(), TRUSTED.get(path.name, frozenset())), path


def test_this_test_can_fail():
    for source in (
        "AutoTokenizer.from_pretrained(place, local_files_only=True)",
        "AutoTokenizer.from_pretrained(place, trust_remote_code=True)",
        "AutoTokenizer.from_pretrained(place, trust_remote_code=chosen)",
        "head.from_pretrained(model, trust_remote_code=False)",
        "datasets.load_dataset(name)",
        "torch.load(file)",
        "np.load(file)",
        "np.load(file, allow_pickle=True)",
        "pickle.loads(data)",
        "joblib.load(data)",
        "yaml.load(data)",
    ):
        assert faults(source), source
    assert not faults("head.from_pretrained(model, trust_remote_code=False, use_safetensors=True)")
    assert not faults("pickle.loads(data)", {"pickle.loads"})
