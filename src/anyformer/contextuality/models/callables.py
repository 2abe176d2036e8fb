"""Plain functions: a batch in, the vectors of one or several layers out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyformer.contextuality.layers import Layered
from anyformer.errors import ContextualityError, raised


def from_callable(function: Callable[..., Any], name: str | None = None) -> Layered:
    """A function from (batch, tokens[, width]) to an array, a list of arrays, or a mapping from names to arrays."""
    named = name or str(getattr(function, "__name__", type(function).__name__))

    def run(batch: NDArray[Any]) -> Sequence[NDArray[Any]]:
        try:
            given = function(batch)
        except Exception as error:  # any error of a user's function, which may be of any kind
            raise ContextualityError(
                f"the model must take a batch of the shape {batch.shape} of {batch.dtype}; {named} raised "
                f"{raised(error)}. Give sequences that it takes."
            ) from error
        return as_layers(given)

    return Layered(named, run)


def as_layers(given: Any) -> list[NDArray[Any]]:
    """One array, or several in a list, a tuple or a mapping, as a list of layers; tensors become arrays."""
    if isinstance(given, Mapping):
        return [as_array(layer) for layer in given.values()]
    if isinstance(given, list | tuple):
        return [as_array(layer) for layer in given]
    return [as_array(given)]


def as_array(layer: Any) -> NDArray[Any]:
    """A NumPy array; types that NumPy lacks become float32."""
    if hasattr(layer, "detach"):
        layer = layer.detach().cpu()
        layer = layer if str(layer.dtype) in ("torch.float32", "torch.float64") else layer.float()
    return np.asarray(layer)
