"""Every kind of model as layers that can be measured: one file a kind."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anyformer.contextuality.layers import Layered
from anyformer.contextuality.models.built import confirm_ids, from_model, from_network
from anyformer.contextuality.models.callables import from_callable
from anyformer.contextuality.models.huggingface import from_huggingface
from anyformer.contextuality.models.modules import from_module
from anyformer.contextuality.models.onnx import from_onnx
from anyformer.contextuality.report import TableIds
from anyformer.contextuality.sequences import Sequences
from anyformer.errors import ContextualityError
from anyformer.model import Model, load
from anyformer.networks.network import Network

CERTIFICATE = "certificate.json"


def as_layered(model: Any, layers: Sequence[str] | None = None) -> Layered:
    """The model as layers, whatever kind it is."""
    if isinstance(model, str | Path):
        model = opened(model, layers)
    if isinstance(model, Layered):
        return model
    if hasattr(model, "named_modules") and hasattr(model, "register_forward_hook"):
        return from_module(model, layers)
    _require_no_names(layers, type(model).__name__)
    if isinstance(model, Model):
        return from_model(model)
    if isinstance(model, Network):
        return from_network(model)
    if callable(model):
        return from_callable(model)
    raise ContextualityError(
        f"a model must be a function, an nn.Module, a model of this package, a folder, a file or a name; got "
        f"{type(model).__name__}."
    )


def opened(place: str | Path, layers: Sequence[str] | None = None) -> Layered | Model:
    """What a path or a name stands for: an .onnx file, a folder of this package, or a Hugging Face model."""
    path = Path(place)
    if path.suffix.lower() == ".onnx":
        return from_onnx(path, layers)
    if (path / CERTIFICATE).exists():
        _require_no_names(layers, "a network built here")
        return load(path)
    return from_huggingface(place, layers)


def _require_no_names(layers: Sequence[str] | None, what: str) -> None:
    if layers is not None:
        raise ContextualityError(
            f"layers can be named for an nn.Module, a Hugging Face model or an ONNX file; {what} has no names. Leave "
            "them out: all that it gives are measured."
        )


def table_ids(model: Any, sequences: Sequences) -> TableIds | None:
    """The ids of a table that was built here; None for any other model."""
    if isinstance(model, str | Path):
        model = load(model) if (Path(model) / CERTIFICATE).exists() else model
    return confirm_ids(model, sequences) if isinstance(model, Model) else None


__all__ = ["as_layered", "opened", "table_ids"]
