"""Checkpoints: whole or not there, of the same architecture, and exact."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from anyformer.errors import TrainingError
from anyformer.mixers import MixerBertForMaskedLM
from anyformer.training.run.checkpoints import Elapsed, restore_newest, save_checkpoint
from tests.training.small import recipe


def model_and_optimizer(seed: int, **changes):
    torch.manual_seed(seed)
    model = MixerBertForMaskedLM(recipe().changed(architecture=changes).architecture.config())
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    ids = torch.arange(5, 25)[None]
    for _ in range(3):
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
    return model, optimizer


def everything(model, optimizer) -> list[torch.Tensor]:
    state = optimizer.state_dict()["state"]
    moments = [state[parameter][name] for parameter in sorted(state) for name in sorted(state[parameter])]
    return [*model.parameters(), *model.buffers(), *moments]


def test_what_is_restored_is_what_was_saved_to_the_last_bit(tmp_path):
    saved, other = model_and_optimizer(1), model_and_optimizer(2)
    assert any(not torch.equal(*pair) for pair in zip(everything(*saved), everything(*other), strict=True))
    save_checkpoint(tmp_path, Elapsed(7, 1.5), *saved)
    assert restore_newest(tmp_path, *other) == Elapsed(7, 1.5)
    assert all(torch.equal(*pair) for pair in zip(everything(*saved), everything(*other), strict=True))
    # Tied weights stay tied.
    assert other[0].cls.predictions.decoder.weight is other[0].bert.embeddings.word_embeddings.weight


def test_without_a_checkpoint_a_run_starts_at_the_beginning(tmp_path):
    assert restore_newest(tmp_path / "none", *model_and_optimizer(1)) == Elapsed(0, 0.0)


def test_the_newest_of_two_is_kept_and_parts_do_not_count(tmp_path):
    pair = model_and_optimizer(1)
    for step in (3, 1_000_000_000, 12, 9):
        save_checkpoint(tmp_path, Elapsed(step, 0.0), *pair)
    (tmp_path / ".step-000000099.part").mkdir()
    assert restore_newest(tmp_path, *pair).step == 1_000_000_000
    assert len(list(tmp_path.glob("step-*"))) == 2


@pytest.mark.parametrize(
    "changes", [{"width": 8}, {"layers": 2, "mixers": recipe().architecture.mixers[:2]}, {"vocabulary": 401}]
)
def test_another_architecture_is_refused(tmp_path, changes):
    save_checkpoint(tmp_path, Elapsed(3, 0.0), *model_and_optimizer(1))
    with pytest.raises(TrainingError, match="must be of the same architecture"):
        restore_newest(tmp_path, *model_and_optimizer(1, **changes))


@pytest.mark.parametrize("name", ["weights.safetensors", "optimizer.safetensors", "progress.json"])
def test_a_damaged_checkpoint_is_named(tmp_path, name):
    pair = model_and_optimizer(1)
    place = save_checkpoint(tmp_path, Elapsed(3, 0.0), *pair) / name
    place.write_bytes(place.read_bytes()[: place.stat().st_size // 2])
    with pytest.raises(TrainingError, match=r"must be whole; .*step-000000003"):
        restore_newest(tmp_path, *pair)


def test_a_checkpoint_has_no_code_in_it(tmp_path):
    place = save_checkpoint(tmp_path, Elapsed(3, 2.0), *model_and_optimizer(1))
    assert sorted(file.name for file in place.iterdir()) == [
        "optimizer.safetensors",
        "progress.json",
        "weights.safetensors",
    ]
    assert json.loads((place / "progress.json").read_text()) == {"step": 3, "seconds": 2.0}


@pytest.mark.parametrize(
    "text",
    [
        *('{"step": 3, "step": 4, "seconds": 1.0}', '{"step": -1, "seconds": 1.0}', '{"step": "3", "seconds": 1.0}'),
        *('{"step": true, "seconds": 1.0}', '{"step": 3.0, "seconds": 1.0}', '{"step": 3, "seconds": NaN}', "[]"),
    ],
)
def test_a_strange_number_of_steps_is_refused(tmp_path, text):
    trained = model_and_optimizer(1)
    (save_checkpoint(tmp_path, Elapsed(3), *trained) / "progress.json").write_text(text)
    with pytest.raises(TrainingError, match="a checkpoint must be whole"):
        restore_newest(tmp_path, *trained)


@pytest.mark.parametrize(
    "change",
    [
        {"x": torch.zeros(1)},
        {"x.step": torch.zeros(())},
        {"999.exp_avg": torch.zeros(1)},
        {"0.exp_avg": torch.zeros(3, 5)},
        {"0.step": torch.zeros((), dtype=torch.int64)},
        {"0.exp_avg": None},
    ],
    ids=str,
)
def test_a_strange_state_of_the_optimizer_is_refused(tmp_path, change):
    trained = model_and_optimizer(1)
    file = save_checkpoint(tmp_path, Elapsed(3), *trained) / "optimizer.safetensors"
    state = {**load_file(file), **change}
    save_file({name: tensor for name, tensor in state.items() if tensor is not None}, file)
    with pytest.raises(TrainingError, match=r"a checkpoint must be whole.*optimizer\.safetensors must have"):
        restore_newest(tmp_path, *trained)


def test_a_checkpoint_holds_its_own_files(tmp_path):
    trained = model_and_optimizer(1)
    file = save_checkpoint(tmp_path / "run", Elapsed(3), *trained) / "weights.safetensors"
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TrainingError, match=r"weights\.safetensors must be its own file, and is a link"):
        restore_newest(tmp_path / "run", *trained)
