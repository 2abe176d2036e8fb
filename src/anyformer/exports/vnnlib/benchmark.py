"""A model as a benchmark: one graph, and many instances about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onnx import ModelProto

from anyformer.errors import ExportError
from anyformer.exports.onnx.model import metadata
from anyformer.exports.proved import Proved
from anyformer.exports.vnnlib.generator import drawn
from anyformer.exports.vnnlib.instances import Instance
from anyformer.exports.vnnlib.subject import subject
from anyformer.networks.dtypes import DType
from anyformer.targets.target import Target
from anyformer.whole_numbers import whole_number

INSTANCES = 20


@dataclass(frozen=True, eq=False)
class Benchmark:
    """What `write` turns into a folder."""

    name: str
    graph: ModelProto
    dtype: DType
    seed: int
    model: Mapping[str, Any]
    """What is claimed of the model, for `verdicts.json`."""
    instances: tuple[Instance, ...]


def to_vnnlib(
    model: Proved,
    *,
    seed: int = 0,
    instances: int = INSTANCES,
    fold_uniform: bool = False,
    target: Target | None = None,
) -> Benchmark:
    """A float32-proved model as a benchmark for verifiers, every instance with its known verdict.

    The model's claim is proved again first: a verdict is worth what the proof behind it is worth.

    Args:
        model: a float32 network and its certificate in the sup norm.
        seed: the same seed gives the same instances of the same model.
        instances: how many; every other one is satisfiable.
        fold_uniform: write attention that asks nothing as a product with a constant matrix.
        target: the function, if it is not a ready-made one and the model does not hold it.

    Raises:
        ExportError: if verdicts cannot be known of this model.
        CertificateError: if its claim is not proved.
    """
    count = whole_number("instances", instances, least=1, error=ExportError)
    seed = whole_number("seed", seed, least=0, error=ExportError)
    about = subject(model, target, fold_uniform)
    made = tuple(drawn(about, seed, count))
    named = f"{about.target.name}-{about.target.tokens}x{about.target.width}"
    return Benchmark(_plain(named), about.graph, model.network.dtype, seed, _claims(model, about.folding), made)


def _plain(name: str) -> str:
    """A file's name: a user's function may be called anything."""
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_") else "_" for letter in name)


def _claims(model: Proved, folding: float) -> dict[str, Any]:
    return {**metadata(model), "folding_error": folding.hex(), "certificate": model.certificate.to_json()}
