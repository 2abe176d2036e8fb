"""From a network to a module and back, through files and through another process."""

import copy
import dataclasses
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_model

from anyformer.errors import ModelFileError, NetworkError
from anyformer.exports.pytorch import from_torch, load_torch, to_torch, write
from anyformer.networks import BFLOAT16, FLOAT16, FLOAT32, cast
from anyformer.networks.digest import digest
from tests.exports.pytorch.samples import inputs, networks

NETWORKS = networks()


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_comes_back(name):
    assert digest(from_torch(to_torch(NETWORKS[name]))) == digest(NETWORKS[name])


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT16, BFLOAT16], ids=str)
def test_a_narrower_network_comes_back(dtype):
    network = cast(NETWORKS["embedded sparse"], dtype)
    assert digest(from_torch(to_torch(network))) == digest(network)


def test_parameters_have_the_names_of_the_file():
    network = NETWORKS["embedded"]
    found = {name: tuple(parameter.shape) for name, parameter in to_torch(network).named_parameters()}
    assert found == {name: array.shape for name, array in network.arrays().items()}
    assert set(to_torch(NETWORKS["embedded sparse"]).state_dict()) == set(found)  # masks are no weights


def test_a_change_of_type_is_a_cast():
    network = NETWORKS["embedded"]
    module = to_torch(network).to(torch.float32)
    assert digest(from_torch(module)) == digest(cast(network, FLOAT32))
    with pytest.raises(NetworkError, match="float32 network must have softmax attention"):
        from_torch(to_torch(NETWORKS["None Sparsemax()"]).float())


def test_modules_are_copied_and_their_states_loaded(tmp_path):
    network = NETWORKS["embedded sparse"]
    module = to_torch(network)
    other = copy.deepcopy(module)
    with torch.no_grad():
        other.W_R.zero_()
    assert digest(from_torch(module)) == digest(network) != digest(from_torch(other))
    save_model(module, str(tmp_path / "weights.safetensors"))
    other.load_state_dict(load_file(tmp_path / "weights.safetensors"))
    torch.save(module.state_dict(), tmp_path / "weights.pt")
    third = to_torch(dataclasses.replace(network, W_R=0 * network.W_R))
    third.load_state_dict(torch.load(tmp_path / "weights.pt", weights_only=True))
    assert digest(from_torch(other)) == digest(from_torch(third)) == digest(network)
    x = torch.tensor(inputs(network))
    assert torch.equal(other(x), module(x))


def test_a_module_moves_with_its_masks():
    module = to_torch(NETWORKS["embedded sparse"]).to("meta")
    x = torch.empty(4, 7, 3, dtype=torch.float64, device="meta")
    assert module(x).device.type == "meta"


@pytest.mark.parametrize("which", [0, 1, 3])
def test_a_folder_gives_the_module(models, tmp_path, which):
    model = models[which]
    folder = write(model, tmp_path / "out")
    assert digest(from_torch(load_torch(folder))) == model.certificate.weights_digest
    with pytest.raises(ModelFileError, match="it holds a model"):
        write(models[0], folder)
    write(models[0], folder, overwrite=True)
    module = to_torch(models[0])
    assert digest(from_torch(load_torch(folder))) == models[0].certificate.weights_digest
    module.load_state_dict(load_file(folder / "model.safetensors"))


@pytest.mark.slow
def test_another_process_computes_the_same_bits(models, tmp_path):
    folder = write(models[4], tmp_path / "out")
    x = np.random.default_rng(0).random((6, models[4].network.tokens, models[4].network.width))
    np.save(tmp_path / "x.npy", x)
    script = (
        "import numpy, sys, torch; from anyformer.exports.pytorch import load_torch; folder = sys.argv[1]\n"
        "x = torch.tensor(numpy.load(folder + '/../x.npy'))\n"
        "numpy.save(folder + '/../y.npy', load_torch(folder)(x).detach().numpy())"
    )
    subprocess.run([sys.executable, "-c", script, str(folder)], check=True)
    here = to_torch(models[4])(torch.tensor(x)).detach().numpy()
    assert np.load(tmp_path / "y.npy").tobytes() == here.tobytes()


def spoiled(change):
    module = to_torch(NETWORKS["embedded"])
    with torch.no_grad():
        change(module)
    return module


def set_nan(module):
    module.stages[0].W_1[1, 2, 3] = float("nan")


def set_infinite_read_out(module):
    module.b_R[1] = float("inf")


def widen(module):
    module.stages[2].b_1 = torch.nn.Parameter(torch.zeros(1, 14, dtype=torch.float64))


def mix_types(module):
    module.stages[2].float()


def drop(module):
    module.W_E = None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_nan, "W_1 must be finite; got nan at index (1, 2, 3)"),
        (set_infinite_read_out, "b_R must be finite and of shape (width) = (3); got shape (3,) and inf"),
        (widen, "the parameter stages.2.b_1 must be of shape (1, 13), as in the network"),
        (mix_types, "all parameters must have one dtype; got torch.float32, torch.float64"),
        (drop, "the parameter W_E must be of shape (11, 3)"),
        (
            lambda module: module.register_parameter("more", torch.nn.Parameter(torch.ones(1))),
            "the parameter more must",
        ),
    ],
)
def test_what_is_no_network_any_more_is_refused(change, message):
    with pytest.raises(NetworkError, match=re.escape(message)):
        from_torch(spoiled(change))


@pytest.mark.parametrize("module", [torch.nn.Linear(2, 3), torch.nn.Sequential(to_torch(NETWORKS["plain"])), "text"])
def test_other_modules_are_refused(module):
    with pytest.raises(NetworkError, match=f"a module that to_torch made; got a {type(module).__name__}"):
        from_torch(module)
