"""anyformer: any continuous sequence function as a Transformer, with a proof of its error. No training.

>>> import anyformer as af
>>> built = af.construct(af.targets.mean_scale(tokens=2), tolerance=0.2)
>>> built([[0.1], [0.9]]).shape
(2, 1)
"""

from anyformer import patterns, targets, zoo
from anyformer.certificates import Certificate, Effort, Verdict, check_contextual_map, verify
from anyformer.errors import AnyformerError
from anyformer.model import Model, construct, load, plan, recertify
from anyformer.networks import Network, evaluate
from anyformer.parity import parity
from anyformer.targets import Target, target
from anyformer.workers import spread

__version__ = "0.1.0"

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
