"""PyTorch modules: what they return, or what chosen submodules return."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyformer.contextuality.layers import Layered
from anyformer.contextuality.models.callables import as_layers
from anyformer.errors import ContextualityError, raised


def from_module(module: Any, layers: Sequence[str] | None, name: str | None = None) -> Layered:
    """A module in evaluation mode. With names of submodules, their outputs; otherwise its own.

    Of a Hugging Face model these are its hidden states: the embeddings, and the output of each layer.
    """
    named = name or type(module).__name__
    has_states = layers is None and hasattr(module, "config") and hasattr(module, "get_input_embeddings")
    parts = _parts(module, layers or ())

    def run(batch: NDArray[Any]) -> Sequence[NDArray[Any]]:
        import torch

        given = torch.from_numpy(np.ascontiguousarray(batch))
        weights = next(module.parameters(), None)
        if weights is not None:
            given = given.to(weights.device, weights.dtype if given.is_floating_point() else None)
        kept: list[Any] = []
        was_training = module.training
        hooks = [part.register_forward_hook(lambda *call: kept.append(_first(call[-1]))) for part in parts]
        try:
            module.eval()
            with torch.inference_mode():
                output = module(given, output_hidden_states=True) if has_states else module(given)
        except Exception as error:  # any error of a user's module, which may be of any kind
            raise ContextualityError(
                f"the model must take a batch of the shape {batch.shape} of {batch.dtype}; {named} raised "
                f"{raised(error)}. Give sequences that it takes."
            ) from error
        finally:
            module.train(was_training)
            for hook in hooks:
                hook.remove()
        return as_layers(kept if parts else _states(output) if has_states else output)

    names = tuple(layers) if layers else None
    return Layered(named, run, names=names, longest=_longest(module) if has_states else None)


def _parts(module: Any, layers: Sequence[str]) -> list[Any]:
    every = dict(module.named_modules())
    for name in layers:
        if name not in every:
            raise ContextualityError(
                f"layers must be names of submodules; {name!r} is none. `dict(model.named_modules())` lists them."
            )
    return [every[name] for name in layers]


def _first(output: Any) -> Any:
    """What a layer passes on: the first of several outputs."""
    return output[0] if isinstance(output, tuple | list) else output


def _states(output: Any) -> Any:
    """Of a model with an encoder and a decoder, those of the encoder: its tokens are the given ones."""
    states = getattr(output, "hidden_states", None)
    states = getattr(output, "encoder_hidden_states", None) if states is None else states
    if states is None:
        raise ContextualityError("the model must give its hidden states; it gave none. Name its layers instead.")
    return states


def _longest(module: Any) -> int | None:
    most = getattr(module.config, "max_position_embeddings", None)
    return most if isinstance(most, int) and most > 0 else None
