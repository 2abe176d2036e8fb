"""What instances are made about: a network with a proof of its largest error, its target, and its graph."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from onnx import ModelProto

from anyformer.arrays import Array
from anyformer.certificates.checker import Verdict as Proof
from anyformer.certificates.checker import verify
from anyformer.errors import CertificateError, ExportError
from anyformer.exports.onnx.model import to_onnx
from anyformer.exports.onnx.plain import to_plain_onnx
from anyformer.exports.onnx.running import run_session, session
from anyformer.exports.proved import Proved
from anyformer.exports.vnnlib.folding import folding_error
from anyformer.networks.digest import digest
from anyformer.networks.dtypes import FLOAT32, FLOAT64
from anyformer.networks.evaluate import evaluate
from anyformer.networks.network import Network, cast
from anyformer.targets.target import Target


@dataclass(frozen=True, eq=False)
class Subject:
    """A proved network, as a graph for verifiers."""

    model: Proved
    target: Target
    graph: ModelProto
    """The one that is exported."""
    folding: float
    """How far the graph is from the network in real arithmetic."""

    @property
    def network(self) -> Network:
        """The weights."""
        return self.model.network

    @property
    def error(self) -> float:
        """How far the graph may be from the target."""
        return self.model.certificate.certified_error + self.folding

    def sampled(self, x: Array) -> Array:
        """Outputs for many inputs, fast, by onnxruntime on a graph that takes a batch. For finding, not for judging."""
        return run_session(self._batched, x).astype(np.float64)

    def outputs(self, x: Array) -> dict[str, Array]:
        """The output for one input (tokens, width), by all who should agree on it, up to rounding."""
        return {
            "anyformer in float32": evaluate(self.network, x[None])[0],
            "anyformer in float64": evaluate(self._widened, x[None])[0],
            "onnxruntime": run_session(self._exported, x[None])[0].astype(np.float64),
        }

    @cached_property
    def _batched(self) -> Any:
        return session(to_onnx(self.model))

    @cached_property
    def _exported(self) -> Any:
        return session(self.graph)

    @cached_property
    def _widened(self) -> Network:
        """The same weights: the nearest to real arithmetic that can be run."""
        return cast(self.network, FLOAT64)


def subject(model: Proved, target: Target | None, fold_uniform: bool) -> Subject:
    """Check that verdicts can be known of a model: proved again here, in float32, in the sup norm, for these weights.

    Raises:
        ExportError: if the model is not of the kind that verdicts can be known of.
        CertificateError: if its claim is not proved.
    """
    network, certificate = model.network, model.certificate
    if network.dtype != FLOAT32:
        raise ExportError(
            f"verifiers read float32 networks, and a verdict is known of the weights that were proved: the model must "
            f"be of float32; got {network.dtype}. Build it with dtype='float32' (--dtype float32)."
        )
    if certificate.p != math.inf:
        raise ExportError(
            f"the certificate must bound the largest error of any entry, p = inf; got p = {certificate.p:g}, which "
            f"says nothing of a single input. Build the model with p=inf (--p inf)."
        )
    if certificate.kind.uses_modulus:
        raise ExportError(
            "the certificate must be unconditional; this one relies on a declared modulus, and so would its verdicts. "
            "Build the model from a function that can be traced."
        )
    if certificate.weights_digest != digest(network):
        raise CertificateError("the certificate must be about the network's weights; it is about others.")
    # A model that was built here knows its target; one that was loaded may name a ready-made one.
    target = target or getattr(model, "target", None) or certificate.target.target()
    result = verify(network, certificate, target)
    if result.verdict is not Proof.PROVED:
        raise CertificateError(f"the model must be proved for its verdicts to be known; it is {result.verdict.value}.")
    folding = folding_error(network, target.domain) if fold_uniform else 0.0
    return Subject(model, target, to_plain_onnx(model, fold_uniform), folding)
