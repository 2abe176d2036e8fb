"""The certificate of a model in an ordinary `nn.TransformerEncoder`."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.claims.declaration import Declaration
from anyformer.strict_json import to_hex

FORMAT = "anyformer-stock-certificate-1"
ASSUMPTIONS = (
    "The target is the real function that its NumPy formula states; the formula was traced into steps, which were "
    "compared with its values on samples.",
    "The bound holds for every input of the domain, for the encoder in real arithmetic and as its own type computes "
    "it, in training and in evaluation, with sums in any order, if softmax's exp is within 8 ulps and its weighted "
    "means have at most 2·tokens + 40 roundings, and if a layer norm's mean is within κ roundings of the largest "
    "number of the token, and its variance within κ roundings of itself, κ = 4·d_model + 32.",
)


@dataclass(frozen=True)
class StockCertificate:
    """The claim d_p(f, encoder) ≤ certified_error: what is proved of the network, and what layer norms add to it."""

    target: Declaration
    p: float
    tolerance: float
    network_error: float
    """Proved of the network without norms."""
    norm_error: float
    """What the norms add, proved with the lemma of `anyformer.exports.stock.norm`."""
    large: float
    """C of the large pair (C, −C)."""
    norm_off: float
    """How far the factor of a norm can be from a constant, relatively, in real arithmetic."""
    norm_epsilon: float
    d_model: int
    nhead: int
    dim_feedforward: int
    num_layers: int
    dtype: str
    weights_digest: str
    """Of the network, as in its own certificate."""
    encoder_digest: str
    """Of the module's state dict: `encoder_digest(arrays)`."""

    @property
    def certified_error(self) -> float:
        """No larger error was left possible."""
        return (self.network_error + self.norm_error) * (1 + 2.0**-52)

    @property
    def is_within_tolerance(self) -> bool:
        """Whether the whole error is still within what the network was built for."""
        return self.certified_error <= self.tolerance

    @property
    def claim(self) -> str:
        """The claim in a line."""
        return f"d_p(f, encoder) <= {self.certified_error:.6g} in L^{self.p:g}"

    def to_json(self) -> dict[str, Any]:
        """A JSON object; floats as hexadecimal strings."""
        return {
            "format": FORMAT,
            "claim": self.claim,
            "target": self.target.to_json(),
            **{name: to_hex(getattr(self, name)) for name in ("p", "tolerance", "certified_error")},
            **{name: to_hex(getattr(self, name)) for name in ("network_error", "norm_error", "large")},
            **{name: to_hex(getattr(self, name)) for name in ("norm_off", "norm_epsilon")},
            **{name: getattr(self, name) for name in ("d_model", "nhead", "dim_feedforward", "num_layers")},
            **{name: getattr(self, name) for name in ("dtype", "weights_digest", "encoder_digest")},
            "assumptions": list(ASSUMPTIONS),
        }


def encoder_digest(arrays: Mapping[str, Array]) -> str:
    """SHA-256 over the names, shapes and numbers of a module's state dict."""
    sha = hashlib.sha256()
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        sha.update(f"{name}{array.shape}\n".encode())
        sha.update(array.astype("<f8").tobytes())
    return sha.hexdigest()
