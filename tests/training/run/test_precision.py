"""The precision of a run's steps: its own for each run of a process, resumed to the same bits, measured in 32 bits."""

import json

import pytest
import torch
from safetensors.torch import load_file

from anyformer.errors import TrainingError
from anyformer.mixers import Attention, SelfAttention
from anyformer.training import Schedule, pretrain
from anyformer.training.run.checkpoints import Elapsed, restore_newest, save_checkpoint
from anyformer.training.run.processes import accelerator
from anyformer.training.tasks.pretrain import fresh
from tests.training.small import recipe, text


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    return text(tmp_path_factory.mktemp("text"))


def weights(folder) -> dict[str, torch.Tensor]:
    return load_file(folder.model / "model.safetensors")


def test_runs_of_one_process_have_each_their_own_precision(tmp_path, prepared):
    full, narrow, again = (
        pretrain(recipe(steps=4, precision=precision), prepared, tmp_path / f"{number}")
        for number, precision in enumerate(("fp32", "bf16", "fp32"))
    )
    name = "bert.encoder.layer.3.attention.self.query.weight"
    assert weights(narrow)[name].dtype == torch.float32
    assert torch.equal(weights(full)[name], weights(again)[name])
    assert not torch.equal(weights(full)[name], weights(narrow)[name])
    # 16 bits of which 8 are the mantissa's: four steps of Adam, each of the size of the rate, may differ in sign.
    away = (weights(full)[name] - weights(narrow)[name]).abs().max()
    assert away <= 2 * 4 * recipe().schedule.learning_rate


def test_what_is_measured_is_computed_in_32_bits(tmp_path, prepared):
    """Before the first step both have the same weights, so what is measured then is the same to the last bit."""
    first = [
        pretrain(recipe(steps=1, precision=precision), prepared, tmp_path / precision).rows()[0]
        for precision in ("fp32", "bf16")
    ]
    assert first[0] == first[1]
    assert "validation_loss" in first[0]


def test_an_interrupted_run_in_16_bits_ends_with_the_same_bits(tmp_path, prepared):
    class Stop(Exception):
        pass

    def stop(row):
        if row["step"] == 7:
            raise Stop

    asked = recipe(steps=10, precision="bf16")
    with pytest.raises(Stop):
        pretrain(asked, prepared, tmp_path / "stopped", stop)
    stopped, whole = (pretrain(asked, prepared, tmp_path / name) for name in ("stopped", "whole"))
    assert all(torch.equal(weights(whole)[name], tensor) for name, tensor in weights(stopped).items())


def test_another_precision_is_another_run(tmp_path, prepared):
    pretrain(recipe(steps=1), prepared, tmp_path)
    with pytest.raises(TrainingError, match=r"has recipe.schedule.precision = \"fp32\", and \"bf16\" is asked for"):
        pretrain(recipe(steps=1, precision="bf16"), prepared, tmp_path)


def test_precisions_that_do_not_exist_here_are_refused(monkeypatch):
    with pytest.raises(TrainingError, match="precision must be one of fp32, bf16, fp16; got 'fp8'"):
        Schedule(precision="fp8")
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "bf16")
    with pytest.raises(TrainingError, match=r"configured for, bf16; got fp32. Give --precision bf16"):
        accelerator("fp32")
    assert accelerator("bf16").mixed_precision == "bf16"


def test_the_scale_of_gradients_is_kept(tmp_path):
    """fp16 scales its gradients by a number that changes from step to step, so a checkpoint must hold it."""
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    scaler, other = (torch.amp.GradScaler("cpu", init_scale=scale, growth_interval=7) for scale in (512.0, 2.0))
    scaler.scale(model(torch.ones(1, 3)).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    save_checkpoint(tmp_path, Elapsed(1, 2.0), model, optimizer, scaler)
    restore_newest(tmp_path, model, optimizer, other)
    assert other.state_dict() == scaler.state_dict()
    assert other.state_dict()["_growth_tracker"] == 1
    file = tmp_path / "step-000000001" / "scaler.json"
    for wrong in ({"scale": -1.0}, {"scale": 1e300}, {"scale": True}, {"more": 1.0}):
        file.write_text(json.dumps({**scaler.state_dict(), **wrong}))
        with pytest.raises(TrainingError, match="a checkpoint must be whole"):
            restore_newest(tmp_path, model, optimizer, other)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_attention_in_16_bits_is_attention(dropout):
    """By single products on CPUs: the same up to the rounding of 16 bits, with padding and with a row of padding."""
    built = Attention(4).build(24, dropout).eval()
    hidden = torch.randn(3, 7, 24, generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([[1] * 7, [1, 1, 1, 0, 1, 0, 0], [0] * 7])
    wanted = built(hidden, mask)
    with torch.autocast("cpu", torch.bfloat16):
        narrow = built(hidden, mask)
    assert narrow.dtype == torch.bfloat16
    # Five roundings (projections, scores, weights, means) of numbers of this size, each by half an ulp of 8 bits.
    size = float(torch.cat([built.value(hidden).abs().flatten(), wanted.abs().flatten()]).max().detach())
    assert float((narrow.float() - wanted).abs().max().detach()) <= 5 * 2**-8 * size * 2
    assert not narrow[2].any()


def test_weights_are_dropped_in_16_bits_too():
    built = Attention(2).build(8, 0.5).train()
    assert isinstance(built, SelfAttention)
    hidden = torch.randn(2, 5, 8)
    torch.manual_seed(0)
    with torch.autocast("cpu", torch.bfloat16):
        assert not torch.equal(built(hidden), built(hidden))


def test_adams_second_beta_is_the_recipes(tmp_path, prepared):
    usual, other = (
        pretrain(recipe(steps=3, **beta), prepared, tmp_path / f"{len(beta)}") for beta in ({}, {"adam_beta2": 0.9})
    )
    name = "bert.encoder.layer.3.attention.self.query.weight"
    assert not torch.equal(weights(usual)[name], weights(other)[name])


def test_the_start_is_the_recipes(prepared):
    """Positions are waves in a quarter of the coordinates and zero elsewhere, or drawn everywhere as in BERT."""
    usual, bert = (
        fresh(recipe().changed(architecture={"start": start}), 400).bert.embeddings.position_embeddings.weight
        for start in ("neighbours", "bert")
    )
    assert not usual[:, :12].any()
    assert bert[:, :12].all()
    with pytest.raises(TrainingError, match="start must be one of neighbours, bert; got 'random'"):
        recipe().changed(architecture={"start": "random"})


@pytest.mark.skipif(torch.accelerator.is_available(), reason="this machine computes in fp16")
def test_fp16_is_refused_where_it_would_silently_be_fp32():
    with pytest.raises(TrainingError, match=r"fp16 needs a GPU, and there is none\. Choose bf16"):
        accelerator("fp16")


def test_next_words_are_measured_in_32_bits(tmp_path, prepared):
    """As masked words are, though their task calls the whole model."""
    changed = {"architecture": {"mixers": (Attention(2),)}, "text": {"task": "next-words"}}
    first = [
        pretrain(recipe(steps=1, precision=precision).changed(**changed), prepared, tmp_path / precision).rows()[0]
        for precision in ("fp32", "bf16")
    ]
    assert first[0] == first[1]
