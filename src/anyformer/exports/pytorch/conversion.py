"""From a network to a module and back."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from anyformer.arrays import Array
from anyformer.errors import NetworkError
from anyformer.exports.config import Config
from anyformer.exports.folder import load_folder, save_folder
from anyformer.exports.proved import Proved
from anyformer.exports.pytorch.module import NetworkModule
from anyformer.exports.tensors import assembled
from anyformer.networks.dtypes import as_dtype
from anyformer.networks.network import Network


def to_torch(model: Proved | Network) -> NetworkModule:
    """The model as a PyTorch module, (batch, tokens, width) in and out, with parameters of the model's dtype.

    It trains, moves, saves and loads like any other module. Training changes the weights, and the certificate speaks of
    the weights as they are now.

    Args:
        model: a proved model, or a network alone, of softmax, sparsemax or entmax and ReLU.

    Example:
        >>> import torch
        >>> built = af.construct(targets.mean_scale(tokens=3), tolerance=0.1)
        >>> to_torch(built)(torch.zeros(5, 3, 1, dtype=torch.float64)).shape
        torch.Size([5, 3, 1])
    """
    network = model if isinstance(model, Network) else model.network
    module = NetworkModule(structure_of(network))
    fill(module, network)
    return module


def from_torch(module: nn.Module) -> Network:
    """The network that a module of `to_torch` computes now.

    It has no certificate: a claim about other weights does not hold for these. Weights that did not change give the
    network that the module was made from, with the same digest.

    Args:
        module: what `to_torch` gave, trained or not, on any device; or a Hugging Face model of ours.

    Raises:
        NetworkError: if it is another module, or its parameters are not finite or no longer fit together.
    """
    inner = getattr(module, "_orig_mod", module)  # where torch.compile keeps the module that it was given
    if not isinstance(inner, nn.Module) or not isinstance(getattr(inner, "structure", None), Config):
        raise NetworkError(
            f"from_torch takes a module that to_torch made; got a {type(module).__name__}. Give the module itself, "
            f"without what is wrapped around it."
        )
    return network_of(inner.structure, dict(inner.named_parameters()))


def network_of(structure: Config, tensors: Mapping[str, Tensor]) -> Network:
    """The network of a structure whose numbers are in tensors, by the names of the file's arrays."""
    fitting = _as_it_is(structure, tensors)
    return assembled(fitting, {name: _array(tensor) for name, tensor in tensors.items()})


def load_torch(folder: str | Path) -> NetworkModule:
    """The module of a model folder, as `Model.save` and `write` leave it."""
    network, _ = load_folder(Path(folder))
    return to_torch(network)


def write(model: Proved, out: str | Path, overwrite: bool = False) -> Path:
    """Write a folder that `load_torch` reads.

    It is the model folder itself: its model.safetensors holds the parameters by the names that the module gives them.

    Args:
        model: what to write.
        out: the folder; new, empty, or (with overwrite) one that holds a model.
        overwrite: replace the model that is there.
    """
    return save_folder(Path(out), model.network, model.certificate, overwrite)


def structure_of(network: Network) -> Config:
    """Everything about a network but its numbers, if PyTorch can have it."""
    if not network.is_soft:
        raise NetworkError(
            "only networks of softmax and ReLU become modules; this one has a hardmax or a piecewise linear "
            "activation. Take the soft network that was built from it."
        )
    return Config.of(network)


@torch.no_grad()
def fill(module: nn.Module, network: Network) -> None:
    """Copy a network's numbers into the parameters of a module with its structure."""
    parameters = dict(module.named_parameters())
    for name, array in network.arrays().items():
        parameters[name].copy_(torch.tensor(array))


def _as_it_is(structure: Config, parameters: Mapping[str, Tensor]) -> Config:
    """The structure with the dtype that the parameters have now; an error if they are not those it describes."""
    found = {name: tuple(tensor.shape) for name, tensor in parameters.items()}
    wanted = structure.shapes()
    for name in sorted(found.keys() | wanted.keys()):
        if found.get(name) != wanted.get(name):
            raise NetworkError(
                f"the parameter {name} must be of shape {wanted.get(name, 'none: it must not be there')}, as in the "
                f"network that the module was made from; got {found.get(name, 'none')}. Undo what changed the module."
            )
    dtypes = sorted({str(tensor.dtype) for tensor in parameters.values()})
    if len(dtypes) > 1:
        raise NetworkError(f"all parameters must have one dtype; got {', '.join(dtypes)}. Convert the module: .to(…).")
    return replace(structure, dtype=as_dtype(dtypes[0]).name) if dtypes else structure


def _array(tensor: Tensor) -> Array:
    array: Array = tensor.detach().to(device="cpu", dtype=torch.float64).numpy()
    return array
