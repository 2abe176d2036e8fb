"""Steps of BERT with other mixers against `transformers`: a layer at BERT_BASE size, and masked-word training."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from transformers import BertConfig, BertForMaskedLM
from transformers.models.bert.modeling_bert import BertLayer

from anyformer.mixers import (
    Attention,
    Average,
    Bilinear,
    Convolution,
    Mixer,
    MixerBertConfig,
    MixerBertForMaskedLM,
    PlainConvolution,
)
from anyformer.mixers.bert.model import MixerBertLayer
from benchmarks.interleave import Program, interleave, ratio
from benchmarks.machine import THREADS
from benchmarks.results import Size

BATCH = 8
LENGTHS = {Size.FULL: (128, 512), Size.QUICK: (32,)}
WIDTH = {Size.FULL: 768, Size.QUICK: 96}
ROUNDS = {Size.FULL: 15, Size.QUICK: 3}
VOCABULARY = {Size.FULL: 30522, Size.QUICK: 1000}
# How small BERTs are trained on two cores; 15 % of the words are masked, as in BERT.
SMALL = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024}
SMALL_TOKENS, MASKED = 128, 0.15
# As BERT is trained, and without: dropout sends the peer's attention to a slower kernel; without, it is at its best.
DROPOUTS = (0.1, 0.0)
WITHOUT_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
PEER = "transformers, SDPA"
# The paper's formula, and what its parameters amount to.
PLAIN, GATED = "convolution, no gate", "convolution, gated"
WANTED = {
    128: {PLAIN: 1.3, GATED: 1.3, "bilinear": 1.3, "average": 1.5},
    512: {PLAIN: 1.4, GATED: 1.4, "bilinear": 1.35, "average": 1.65},
}
WANTED_WORDS = 2.5


def measure(size: Size) -> dict[str, Any]:
    """Layers at every length, then masked words."""
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    rows = [_layers(tokens, dropout, size) for dropout in DROPOUTS for tokens in LENGTHS[size]]
    compiled = [_compiled(tokens, size) for tokens in LENGTHS[size]]
    return {"batch": BATCH, "width": WIDTH[size], "layers": rows, "compiled": compiled, "words": _words(size)}


def _mixers(tokens: int) -> dict[str, Mixer]:
    """The paper's, with a W_P for the length at hand."""
    return {
        "attention": Attention(heads=12),
        "average": Average(),
        "bilinear": Bilinear(max_length=tokens),
        PLAIN: PlainConvolution(kernel=128, filters=16),
        GATED: Convolution(kernel=128, filters=16),
    }


def _layers(tokens: int, dropout: float, size: Size) -> dict[str, Any]:
    sizes: dict[str, Any] = {"hidden_size": WIDTH[size], "intermediate_size": 4 * WIDTH[size]}
    sizes |= {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    hidden = torch.randn(BATCH, tokens, WIDTH[size], requires_grad=True)
    stock = BertLayer(BertConfig(**sizes, attn_implementation="sdpa")).train()
    programs = [Program(PEER, _layer_step(stock, lambda: stock(hidden)))]
    for name, mixer in _mixers(tokens).items():
        ours = MixerBertLayer(MixerBertConfig(**sizes), mixer, 0).train()
        programs.append(Program(name, _layer_step(ours, lambda ours=ours: ours(hidden, None))))
    timings = interleave(programs, ROUNDS[size])
    for program, timing in zip(programs, timings, strict=True):
        print(
            f"mixers: {tokens} tokens, dropout {dropout}, {program.name}: {ratio(timings[0], timing):.2f} × {PEER}",
            flush=True,
        )
    return {
        "tokens": tokens,
        "dropout": dropout,
        "programs": {
            program.name: {**timing.as_json(), "times": ratio(timings[0], timing)}
            for program, timing in zip(programs, timings, strict=True)
        },
    }


def _compiled(tokens: int, size: Size) -> dict[str, Any]:
    """The gated convolution by itself and under torch.compile, which must not slow it down."""
    torch._dynamo.reset()
    hidden = torch.randn(BATCH, tokens, WIDTH[size], requires_grad=True)
    mixer = _mixers(tokens)[GATED].build(WIDTH[size]).train()
    faster = torch.compile(mixer)
    plain, compiled = interleave(
        [
            Program("eager", _layer_step(mixer, lambda: mixer(hidden))),
            Program("compiled", _layer_step(mixer, lambda: faster(hidden))),
        ],
        ROUNDS[size],
    )
    times = ratio(plain, compiled)
    print(f"mixers: {tokens} tokens, {GATED}, compiled: {times:.2f} × the rate without", flush=True)
    return {"tokens": tokens, "eager": plain.as_json(), "compiled": compiled.as_json(), "times": times}


def _layer_step(layer: nn.Module, forward: Callable[[], Tensor]) -> Callable[[], None]:
    def step() -> None:
        layer.zero_grad()
        result = forward()
        result.backward(torch.ones_like(result))

    return step


def _words(size: Size) -> dict[str, Any]:
    """The same weights, words and labels; forward and backward, then with a step of AdamW too."""
    sizes = {**SMALL, **WITHOUT_DROPOUT, "vocab_size": VOCABULARY[size]}
    stock = BertForMaskedLM(BertConfig(**sizes, attn_implementation="sdpa")).train()
    ours = MixerBertForMaskedLM(MixerBertConfig(**sizes)).train()
    ours.load_state_dict(stock.state_dict())
    ids = torch.randint(5, VOCABULARY[size], (BATCH, SMALL_TOKENS))
    given = {"input_ids": ids, "labels": torch.where(torch.rand(ids.shape) < MASKED, ids, -100)}
    losses = [float(model(**given).loss.detach()) for model in (stock, ours)]
    assert abs(losses[0] - losses[1]) < 1e-4, losses
    found: dict[str, Any] = {"vocabulary": VOCABULARY[size], "masked": MASKED, "tokens": SMALL_TOKENS, **SMALL}
    for name, optimise in (("step", False), ("step with AdamW", True)):
        programs = [Program(type(model).__name__, _word_step(model, given, optimise)) for model in (stock, ours)]
        slow, fast = interleave(programs, ROUNDS[size])
        found[name] = {"stock": slow.as_json(), "ours": fast.as_json(), "times": ratio(slow, fast)}
        print(f"mixers: masked words, {name}: {found[name]['times']:.2f} × BertForMaskedLM", flush=True)
    return found


def _word_step(model: nn.Module, given: dict[str, Tensor], optimise: bool) -> Callable[[], None]:
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step() -> None:
        model.zero_grad()
        model(**given).loss.backward()
        if optimise:
            optimiser.step()

    return step


def render(numbers: dict[str, Any]) -> str:
    """The section of the report."""
    words = numbers["words"]
    return "\n\n".join(
        [
            *(_claim(row) for row in numbers["layers"]),
            f"- Masked words, {words['vocabulary']:,} of them, {words['num_hidden_layers']} layers × "
            f"{words['hidden_size']}: a step is **{words['step']['times']:.2f} times as fast as `BertForMaskedLM`** "
            f"({WANTED_WORDS} wanted), with AdamW {words['step with AdamW']['times']:.2f} times: scores are computed "
            "where a word is masked.",
            *(
                f"- The gated convolution under `torch.compile`, {row['tokens']} tokens: **{row['times']:.2f} × the"
                " rate without**."
                for row in numbers.get("compiled", [])
            ),
            _table(numbers["layers"]),
            f"Forward and backward of one layer, batch {numbers['batch']}, width {numbers['width']}, no padding; with "
            "BERT's own dropout and without any (with it, the peer's attention takes a slower kernel). The ratio is "
            "the median over rounds of the ratio within one.",
        ]
    )


def _claim(row: dict[str, Any]) -> str:
    wanted = WANTED.get(row["tokens"], {})
    said = [
        f"{name} **{row['programs'][name]['times']:.2f} ×**"
        + (f" ({least} wanted)" if (least := wanted.get(name)) else "")
        for name in (PLAIN, GATED, "bilinear", "average")
    ]
    way = f"dropout {row['dropout']}, as BERT is trained" if row["dropout"] else "no dropout, the peer at its best"
    return f"- Step rate of a layer at {row['tokens']} tokens, {way}, against {PEER}: {', '.join(said)}."


def _table(rows: list[dict[str, Any]]) -> str:
    lines = ["| tokens | dropout | mixer | median, ms | best, ms | times the peer's rate |", "|" + "---|" * 6]
    for row in rows:
        for name, one in row["programs"].items():
            seconds = f"{1e3 * one['median']:.1f} | {1e3 * one['best']:.1f}"
            lines.append(f"| {row['tokens']} | {row['dropout']} | {name} | {seconds} | {one['times']:.2f} |")
    return "\n".join(lines)
