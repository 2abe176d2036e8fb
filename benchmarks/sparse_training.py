"""A BERT-mini with sparse attention on long windows: the losses of a dense run under the mask, the time of a step."""

import dataclasses
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import BertConfig, BertForMaskedLM

from anyformer.mixers import Attention, Mixer, PatternAttention
from anyformer.mixers.attention import AttentionHeads
from anyformer.patterns import Longformer, in_short, to_dense
from anyformer.training import SIZES, Recipe, Schedule, SyntheticLanguage, Text, prepare
from anyformer.training.tasks.masked_words import Marks, MaskedWords
from anyformer.training.tasks.pretrain import fresh
from benchmarks.interleave import Program, interleave, ratio
from benchmarks.results import Size

PATTERN = Longformer(half_width=64, global_tokens=4)
TOKENS = {Size.FULL: 2048, Size.QUICK: 160}
LONGER = {Size.FULL: (4096, 8192), Size.QUICK: (320,)}
STEPS = {Size.FULL: 50, Size.QUICK: 5}
ROUNDS = {Size.FULL: 7, Size.QUICK: 2}
SENTENCES = {Size.FULL: 20_000, Size.QUICK: 2_000}
BATCH = 2
WANTED_TIMES, WANTED_LOSS = 3.0, 1e-4
PEER = "dense, BertForMaskedLM of transformers"


class MaskedSelfAttention(AttentionHeads):
    """PyTorch's dense attention under the pattern's mask, which is built once."""

    def __init__(self, width: int, heads: int, tokens: int) -> None:
        super().__init__(width, heads)
        self.mask = torch.from_numpy(to_dense(PATTERN.at(tokens))[0, 0])

    def mix(self, hidden: Tensor, keep: Tensor | None) -> Tensor:
        """Dense attention, scores outside the pattern dropped."""
        parts = (self.split(projection, hidden) for projection in (self.query, self.key, self.value))
        return scaled_dot_product_attention(*parts, attn_mask=self.mask).transpose(1, 2).flatten(2)

    def seen(self, hidden: Tensor, keep: Tensor | None) -> Tensor:
        """The pattern."""
        return self.mask


def measure(size: Size) -> dict[str, Any]:
    """Losses of both runs, then steps of sparse and of dense attention in turns, by process time on one thread."""
    torch.set_num_threads(1)
    recipe = _recipe(TOKENS[size], PatternAttention(SIZES["mini"].heads, PATTERN))
    with tempfile.TemporaryDirectory() as folder:
        text = prepare(SyntheticLanguage(sentences=SENTENCES[size]), Path(folder), recipe.architecture.vocabulary)
        marks = Marks.of(text.tokenizer)
        task = MaskedWords(text.train, text.valid, marks, recipe.text, recipe.schedule)
        batches = [task.batch(step) for step in range(STEPS[size])]
    sparse, dense, masked = (
        fresh(recipe, marks.vocabulary),
        fresh(_recipe(TOKENS[size], _dense()), marks.vocabulary),
        _masked(recipe, marks.vocabulary),
    )
    losses = {name: _losses(model, batches, recipe) for name, model in (("sparse", sparse), ("masked", masked))}
    away = max(abs(one - other) for one, other in zip(losses["sparse"], losses["masked"], strict=True))
    print(f"sparse_training: losses differ by at most {away:.1e} over {len(batches)} steps", flush=True)
    models = {"sparse": sparse, "dense, no mask": dense, "dense, masked": masked, PEER: stock(recipe, marks.vocabulary)}
    programs = [Program(name, _step(model, batches[0], recipe)) for name, model in models.items()]
    timings = dict(zip(models, interleave(programs, ROUNDS[size], time.process_time), strict=True))
    times = {name: ratio(timing, timings["sparse"]) for name, timing in timings.items()}
    for name, many in times.items():
        print(f"sparse_training: a step of {name}: {many:.2f} × sparse", flush=True)
    return {
        "tokens": TOKENS[size],
        "batch": BATCH,
        "pattern": in_short(PATTERN),
        "steps": len(batches),
        "losses": losses,
        "away": away,
        "programs": {name: {**timing.as_json(), "times": times[name]} for name, timing in timings.items()},
        "longer": [_longer(tokens) for tokens in LONGER[size]],
    }


def _longer(tokens: int) -> dict[str, float]:
    """Sparse and dense steps on one longer sequence of random words, whose losses do not matter."""
    recipes = [_recipe(tokens, mixer) for mixer in (PatternAttention(SIZES["mini"].heads, PATTERN), _dense())]
    vocabulary, generator = recipes[0].architecture.vocabulary, torch.Generator().manual_seed(0)
    words = torch.randint(5, vocabulary, (1, tokens), generator=generator)
    hidden = torch.rand(words.shape, generator=generator) < 0.15
    batch = {"input_ids": words, "labels": torch.where(hidden, words, -100), "attention_mask": torch.ones_like(words)}
    programs = [
        Program(name, _step(fresh(recipe, vocabulary), batch, recipe))
        for name, recipe in zip(("sparse", "dense"), recipes, strict=True)
    ]
    sparse, dense = interleave(programs, 2, time.process_time)
    print(f"sparse_training: {tokens} tokens: {ratio(dense, sparse):.2f} × sparse", flush=True)
    return {"tokens": tokens, "sparse": sparse.best, "dense": dense.best, "times": ratio(dense, sparse)}


def _dense() -> Mixer:
    return Attention(SIZES["mini"].heads)


def _recipe(tokens: int, mixer: Mixer) -> Recipe:
    """BERT-mini, with positions for long windows and without dropout, which a dense run draws otherwise."""
    architecture = dataclasses.replace(SIZES["mini"], longest=tokens, dropout=0.0, mixers=(mixer,))
    return Recipe(architecture, Text(tokens=tokens), Schedule(steps=1000, batch=BATCH))


def stock(recipe: Recipe, vocabulary: int) -> nn.Module:
    """A BERT of the same sizes as most people have it: SDPA without a mask, and scores of every word."""
    config = recipe.architecture.config(vocabulary)
    names = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "max_position_embeddings")
    sizes = {name: getattr(config, name) for name in names}
    dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return BertForMaskedLM(BertConfig(vocab_size=vocabulary, **sizes, **dropout, attn_implementation="sdpa"))


def _masked(recipe: Recipe, vocabulary: int) -> nn.Module:
    """The same BERT with the same weights, and dense attention under the mask."""
    model = fresh(recipe, vocabulary)
    for layer in model.bert.encoder.layer:
        before = layer.attention.self
        layer.attention.self = MaskedSelfAttention(before.width, before.heads, recipe.text.tokens)
        layer.attention.self.load_state_dict(before.state_dict())
    return model


def _losses(model: nn.Module, batches: list[dict[str, Tensor]], recipe: Recipe) -> list[float]:
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=recipe.schedule.weight_decay)
    found = []
    for step, batch in enumerate(batches):
        for group in optimizer.param_groups:
            group["lr"] = recipe.schedule.rate(step)
        found.append(_trained(model, optimizer, batch, recipe))
    return found


def _step(model: nn.Module, batch: dict[str, Tensor], recipe: Recipe) -> Callable[[], float]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    return lambda: _trained(model, optimizer, batch, recipe)


def _trained(model: nn.Module, optimizer: torch.optim.Optimizer, batch: dict[str, Tensor], recipe: Recipe) -> float:
    """One step; the loss before it."""
    model.train()
    optimizer.zero_grad()
    loss = model(**batch).loss
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), recipe.schedule.clip)
    optimizer.step()
    return float(loss.detach())


def render(numbers: dict[str, Any]) -> str:
    """The section of the report."""
    losses, programs = numbers["losses"], numbers["programs"]
    rows = ["| attention | best, s a step | median, s a step | times the sparse one |", "|" + "---|" * 4]
    for name, one in programs.items():
        rows.append(f"| {name} | {one['best']:.2f} | {one['median']:.2f} | {one['times']:.2f} |")
    faster, than_stock = (programs[name]["times"] for name in ("dense, no mask", PEER))
    return "\n\n".join(
        [
            f"- A step of BERT-mini (4 layers × 256, 4 heads) at {numbers['tokens']:,} tokens, batch"
            f" {numbers['batch']}, pattern {numbers['pattern']}: **{faster:.1f} times as fast as dense attention"
            f" without a mask** in our BERT, {than_stock:.1f} times as fast as `BertForMaskedLM` of transformers"
            f" ({WANTED_TIMES:g} wanted). Most of a sparse step is matrix products outside attention.",
            f"- Losses over {numbers['steps']} steps differ from those of a dense run under the mask by at most"
            f" **{numbers['away']:.1e}** ({WANTED_LOSS:.0e} wanted); they go from {losses['sparse'][0]:.3f} to"
            f" {losses['sparse'][-1]:.3f}.",
            "- Longer sequences gain more, against dense attention without a mask: "
            + ", ".join(f"{one['tokens']:,} tokens {one['times']:.1f} times" for one in numbers["longer"])
            + " as fast (batch 1).",
            "\n".join(rows),
            "Process time on one thread, in turns; a step is forward, backward, clipping and AdamW.",
        ]
    )
