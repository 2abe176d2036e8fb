"""What PyTorch sees: a registered operator; what users see: one compiled plan a length, clear errors, linear memory."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import anyformer.attention
from anyformer.attention import AttentionError, backends, explain, plans, sparse_attention
from anyformer.attention.operator import attend
from anyformer.attention.plans import tensors_for
from anyformer.patterns import Full, Longformer, Random, Ring, SlidingWindow, Star, Strided
from tests.attention.comparing import Sizes, padding, random_inputs


@pytest.mark.parametrize("backend", ["numba", "gather"])
@pytest.mark.parametrize("masked", [False, True])
def test_the_operator_keeps_pytorchs_rules(backend, masked):
    sizes = Sizes(tokens=40)
    flat = [x.flatten(0, 1).requires_grad_() for x in random_inputs(sizes)[:3]]
    keep = padding(sizes).to(torch.uint8) if masked else None
    tensors = tensors_for(Longformer(3, 1).at(40).layer(0), backend, torch.device("cpu"))
    torch.library.opcheck(attend, (*flat, keep, tensors, 0.3, backend))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # asked by the compiler itself
def test_in_a_compiled_function():
    inputs = [x.requires_grad_() for x in random_inputs(Sizes(tokens=40))[:3]]
    whole = torch.compile(lambda q, k, v: sparse_attention(q, k, v, Star()).square().sum(), backend="aot_eager")
    gradients = torch.autograd.grad(whole(*inputs), inputs)
    wanted = torch.autograd.grad(sparse_attention(*inputs, Star()).square().sum(), inputs)
    assert all(torch.equal(one, other) for one, other in zip(gradients, wanted, strict=True))


def test_a_plan_is_compiled_once_for_a_length(monkeypatch):
    made = []
    monkeypatch.setattr(plans, "tiling_of", lambda *arguments: made.append(arguments) or original(*arguments))
    family = SlidingWindow(23)
    for tokens in (83, 84, 83, 83):
        inputs = random_inputs(Sizes(tokens=tokens))[:3]
        sparse_attention(*inputs, family)
    assert len(made) == 2


original = plans.tiling_of


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: {"q": x.numpy()}, "q must be a PyTorch tensor; got ndarray"),
        (lambda x: {"k": x[0]}, r"k must have the shape \(batch, heads, tokens, head_size\)"),
        (lambda x: {"v": x[:, :, :0]}, "none of them 0"),
        (lambda x: {"q": x.half(), "k": x.half(), "v": x.half()}, "q must be float32 or float64; got torch.float16"),
        (lambda x: {"v": x.double()}, "one shape, type and device"),
        (lambda x: {"k": x[:, :1]}, "Repeat grouped key-value heads first"),
        (lambda x: {"pattern": "star"}, "pattern must be a family"),
        (lambda x: {"pattern": Ring().at(9)}, "as long as the sequences, 30 tokens; got one of 9"),
        (lambda x: {"attention_mask": torch.ones(2, 29)}, r"\(batch, tokens\) = \(2, 30\)"),
        (lambda x: {"attention_mask": torch.full((2, 30), -1e9)}, "Give no additive mask"),
        (lambda x: {"layer": -1}, "layer must be"),
        (lambda x: {"scale": float("nan")}, "scale must be a finite number"),
        (lambda x: {"backend": "flex"}, "must have tensors on CUDA; got cpu"),
        (lambda x: {"backend": "cuda"}, "backend must be one of numba, gather, flex"),
    ],
)
def test_bad_input_is_refused(change, message):
    x = random_inputs(Sizes(tokens=30))[0]
    given = {"q": x, "k": x, "v": x, "pattern": Ring()} | change(x)
    with pytest.raises(AttentionError, match=message):
        sparse_attention(**given)


def test_without_numba_the_gather_is_taken_and_said(monkeypatch):
    monkeypatch.setattr(backends, "has_numba", lambda: False)
    assert explain(Star(), 50).backend == "gather"
    with pytest.raises(AttentionError, match="must have Numba"):
        sparse_attention(*random_inputs(Sizes(tokens=30))[:3], Ring(), backend="numba")


def test_other_devices_take_the_gather():
    assert explain(Star(), 50, device="cuda").backend == "gather"
    with pytest.raises(AttentionError, match="must have tensors on a CPU"):
        explain(Star(), 50, device="cuda", backend="numba")


@pytest.mark.parametrize("backend", ["numba", "gather"])
def test_explain_counts_the_pairs(backend):
    for pattern in (Longformer(9, 2), Strided(), Strided(arrangement="multihead"), Random(keys=5), Full()):
        told = explain(pattern, 200, backend=backend)
        assert told.connections == sum(each.connections for each in pattern.at(200).lists())
        assert told.executed >= told.connections
        assert told.backend in str(told)
    assert explain(Full(), 64, backend=backend).share == 1.0
    assert explain(Star(), 4096, backend=backend).share < 0.01


def test_the_fast_code_never_imports_the_reference():
    folder = Path(anyformer.attention.__file__).parent
    importing = [path.name for path in folder.rglob("*.py") if "reference" in _imported(path)]
    assert not importing
    assert "reference" in _imported(Path(__file__).parent / "comparing.py")  # the test can fail


def _imported(path: Path) -> set[str]:
    nodes = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom))
    return {node.module.split(".")[-1] for node in nodes if node.module}


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numba", "gather"])
def test_memory_is_linear(backend):
    """n² bytes would be 1 GiB, n² numbers 4."""
    script = f"""
import torch
from anyformer.attention import sparse_attention
from anyformer.patterns import Longformer
def attend(tokens):
    x = torch.randn(1, 2, tokens, 16, requires_grad=True)
    sparse_attention(x, x, x, Longformer(16, 2), backend={backend!r}).sum().backward()
def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) / 1024
attend(64)
before = peak()
attend(32768)
print(peak() - before)
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert float(result.stdout) < 400
