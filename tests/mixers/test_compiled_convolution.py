"""Under torch.compile a convolution goes the way that suits the length, as without; a graph to export suits all."""

from itertools import product

import pytest
import torch

from anyformer.mixers import (
    CausalConvolution,
    Convolution,
    DepthwiseConvolution,
    MixerBertConfig,
    MixerBertModel,
    PlainConvolution,
    convolution,
)
from tests.mixers.samples import rounding

WIDTH = 6


def graphs_of(mixer, hidden, *, dynamic):
    """The graphs that torch.compile makes, by a backend that keeps them and runs them as they are."""
    made = []

    def keep(graph, example):
        made.append(graph)
        return graph.forward

    torch._dynamo.reset()
    compiled = torch.compile(mixer, backend=keep, dynamic=dynamic, fullgraph=True)
    return compiled, made, compiled(hidden)


def ways(graph):
    """What convolves in a graph."""
    called = {str(node.target) for node in graph.graph.nodes}
    return {way for way in ("conv2d", "bmm") if any(way in name for name in called)}


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "tokens", "way"), [(30, 11, "bmm"), (30, 130, "conv2d"), (5, 11, "conv2d")])
@pytest.mark.parametrize("dynamic", [False, True])
def test_the_faster_way_is_compiled(kernel, tokens, way, dynamic):
    mixer = PlainConvolution(kernel, filters=3).build(WIDTH)
    hidden = torch.randn(2, tokens, WIDTH)
    _, made, mixed = graphs_of(mixer, hidden, dynamic=dynamic)
    assert [ways(graph) for graph in made] == [{way}]
    assert torch.equal(mixed, mixer(hidden))


@pytest.mark.parametrize("kind", [Convolution, CausalConvolution])
def test_one_dynamic_graph_serves_the_lengths_on_its_side_and_another_the_rest(kind):
    mixer = kind(kernel=30, filters=3).build(WIDTH).double()
    compiled, made, _ = graphs_of(mixer, torch.randn(2, 11, WIDTH, dtype=torch.float64), dynamic=True)
    for batch, tokens in product((2, 3), (11, 29, 120, 121, 200)):
        hidden = torch.randn(batch, tokens, WIDTH, dtype=torch.float64)
        wanted = mixer(hidden)
        assert (compiled(hidden) - wanted).abs().max() <= rounding(tokens + 2 * WIDTH, 10.0)
    assert {way for graph in made for way in ways(graph)} == {"bmm", "conv2d"}
    assert len(made) == 2, "not one for each length"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what PyTorch's compiler itself calls
@pytest.mark.parametrize("dynamic", [False, True])
def test_gradients_of_the_compiled_mixer_are_right(dynamic):
    torch._dynamo.reset()
    mixer = Convolution(kernel=30, filters=3).build(WIDTH).double()
    compiled = torch.compile(mixer, dynamic=dynamic)
    for tokens in (11, 40, 130):
        hidden = torch.randn(2, tokens, WIDTH, dtype=torch.float64, requires_grad=True)
        found = [torch.autograd.grad(way(hidden).pow(2).sum(), (hidden, mixer.W_C)) for way in (mixer, compiled)]
        for wanted, got in zip(*found, strict=True):
            assert (got - wanted).abs().max() <= rounding(tokens * (2 * WIDTH + 30), float(wanted.abs().max()) + 1)


@pytest.mark.parametrize("kernel", [5, 30])
def test_what_is_exported_serves_every_length(kernel):
    mixer = PlainConvolution(kernel, filters=3).build(WIDTH)
    free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    hidden, mask = torch.randn(2, 7, WIDTH), torch.ones(2, 7, dtype=torch.int64)
    program = torch.export.export(mixer, (hidden, mask), dynamic_shapes=(free, free))
    for tokens in (3, 200):
        other = torch.randn(4, tokens, WIDTH)
        mask = torch.ones(4, tokens, dtype=torch.int64)
        wanted = mixer(other, mask)
        got = program.module()(other, mask)
        assert (got - wanted).abs().max() <= rounding(tokens + 2 * WIDTH, 10.0, torch.float32)


@pytest.mark.slow
def test_a_bert_of_convolutions_is_compiled_with_matrices(monkeypatch):
    called = []
    by_matrices = convolution.by_matrices
    monkeypatch.setattr(convolution, "by_matrices", lambda *given: called.append(1) or by_matrices(*given))
    config = MixerBertConfig(
        vocab_size=30,
        hidden_size=12,
        intermediate_size=8,
        num_attention_heads=2,
        num_hidden_layers=2,
        mixers=[Convolution(kernel=24, filters=4)] * 2,
    )
    model = MixerBertModel(config).eval()
    ids = torch.randint(30, (2, 9))
    mask = torch.tensor([[1] * 9, [1] * 4 + [0] * 5])
    wanted = model(ids, mask).last_hidden_state
    torch._dynamo.reset()
    called.clear()
    got = torch.compile(model, backend="eager")(ids, mask).last_hidden_state
    assert called
    assert torch.allclose(got[mask.bool()], wanted[mask.bool()], atol=1e-5)


@pytest.mark.parametrize("kernel", [5, 32])
@pytest.mark.parametrize("before", [0, 1, 2, 4])
def test_taps_lie_where_before_says(kernel, before):
    """Both ways, for any share of the taps before a token: against the sum in the docstring."""
    module = DepthwiseConvolution(8, kernel, 4, before=before).double()
    hidden = torch.randn(2, 9, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(kernel))
    wanted = torch.zeros_like(hidden)
    for token in range(9):
        for tap in range(kernel):
            if 0 <= (other := token + tap - before) < 9:
                wanted[:, token] += module.W_C[:, tap].repeat_interleave(2) * hidden[:, other]
    torch.testing.assert_close(module(hidden), wanted)
