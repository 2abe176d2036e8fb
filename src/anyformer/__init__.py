"""anyformer: any continuous sequence function as a Transformer, with a proof of its error. No training.

>>> import anyformer as af
>>> built = af.construct(af.targets.mean_scale(tokens=2), tolerance=0.2)
>>> built([[0.1], [0.9]]).shape
(2, 1)
"""

from importlib import import_module
from typing import Any, Final

from anyformer import patterns, targets, zoo
from anyformer.certificates import Certificate, Effort, Verdict, check_contextual_map, verify
from anyformer.errors import AnyformerError
from anyformer.model import Model, construct, load, plan, recertify
from anyformer.networks import Network, evaluate
from anyformer.parity import parity
from anyformer.targets import Target, target
from anyformer.workers import spread

__version__ = "0.1.0"

# Where models go to other tools, each in a module that needs a large package: imported when it is asked for.
_TAKE_AWAY: Final = {
    "to_torch": "pytorch",
    "from_torch": "pytorch",
    "load_torch": "pytorch",
    "to_transformer_encoder": "stock",
    "to_huggingface": "huggingface",
    "from_huggingface": "huggingface",
    "to_onnx": "onnx",
    "to_vnnlib": "vnnlib",
    "to_transformer_lens": "transformer_lens",
    "load_transformer_lens": "transformer_lens",
}
# The same for what shows and measures models.
_LATER: Final = {
    "write_report": "reports.figures.report",
    "measure_contextual_mapping": "contextuality",
}


def __getattr__(name: str) -> Any:
    """Functions that bring a model to another tool, such as `to_torch`, or show it, such as `write_report`."""
    if name in _LATER:
        return getattr(import_module(f"anyformer.{_LATER[name]}"), name)
    if name not in _TAKE_AWAY:
        raise AttributeError(f"module 'anyformer' has no attribute {name!r}")
    return getattr(import_module(f"anyformer.exports.{_TAKE_AWAY[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_TAKE_AWAY, *_LATER})


__all__ = [
    "AnyformerError",
    "Certificate",
    "Effort",
    "Model",
    "Network",
    "Target",
    "Verdict",
    "check_contextual_map",
    "construct",
    "evaluate",
    "load",
    "parity",
    "patterns",
    "plan",
    "recertify",
    "spread",
    "target",
    "targets",
    "verify",
    "zoo",
]
