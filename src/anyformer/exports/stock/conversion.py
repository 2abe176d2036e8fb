"""From a compiled model to an ordinary encoder with layer norms, and what is then proved of it."""

from typing import cast

from anyformer.certificates.bounds.evidence import Evidence
from anyformer.certificates.programs.error_bound import norm_of_one
from anyformer.errors import CertificateError, ExportError
from anyformer.exports.proved import Proved
from anyformer.exports.stock.bound import bound_behind_norms
from anyformer.exports.stock.certificate import StockCertificate, encoder_digest
from anyformer.exports.stock.module import StockTransformer, module_of
from anyformer.exports.stock.norm import EPSILON
from anyformer.exports.stock.weights import Encoder, encoder_sizes
from anyformer.networks.digest import digest
from anyformer.networks.dtypes import FLOAT32, FLOAT64
from anyformer.programs.tracing import trace
from anyformer.targets.target import Target

# So many layers are built; every one is a module of PyTorch.
MOST_LAYERS = 4096


def to_transformer_encoder(model: Proved, target: Target | None = None) -> StockTransformer:
    """Put a compiled model into an ordinary `nn.TransformerEncoder`: norm first, ReLU, with layer norms.

    Every channel is there twice, as c and −c, beside a large pair (C, −C), so that a norm only scales the stream. What
    it adds to the error is proved (`anyformer.exports.stock.norm`) and stands in the module's own certificate.

    Args:
        model: a compiled `Model`, or anything with a compiled network and its certificate.
        target: the function, if the model neither holds it nor names a ready-made one.

    Returns:
        A module with `embed`, `positions`, `encoder`, `read_out` and `certificate`, in the model's type.

    Raises:
        ExportError: if an encoder cannot hold the network, or the bits do not suffice.
        NotShown: if the weights are not shown to compute the target.

    Example:
        >>> import anyformer as af
        >>> model = af.construct("softmax", 1e-3, tokens=5, p=float("inf"))
        >>> module = to_transformer_encoder(model)
        >>> type(module.encoder)
        <class 'torch.nn.modules.transformer.TransformerEncoder'>
        >>> module.certificate.norm_error < 1e-9
        True
    """
    network, certificate = model.network, model.certificate
    _check_fits(model)
    known = target or cast(Target | None, getattr(model, "target", None)) or certificate.target.target()
    sizes = encoder_sizes(network)
    if sizes.num_layers > MOST_LAYERS:
        raise ExportError(
            f"an encoder must have at most {MOST_LAYERS} layers, each of which is several modules; this one would have "
            f"{sizes.num_layers}. Build the model with a larger hidden_size."
        )
    found = bound_behind_norms(trace(known), network, certificate.hints, sizes.d_model)
    arrays = Encoder(network, sizes, found.norm).arrays()
    # (volume · entries)^(1/p) turns the largest error into one in L^p.
    factor = norm_of_one(known, certificate.p) * (1 + 2.0**-52)
    claim = StockCertificate(
        target=certificate.target,
        p=certificate.p,
        tolerance=certificate.tolerance,
        network_error=found.plain * factor,
        norm_error=(found.normed - found.plain) * factor,
        large=found.norm.large,
        norm_off=found.norm.off,
        norm_epsilon=EPSILON,
        d_model=sizes.d_model,
        nhead=sizes.nhead,
        dim_feedforward=sizes.dim_feedforward,
        num_layers=sizes.num_layers,
        dtype=network.dtype.name,
        weights_digest=certificate.weights_digest,
        encoder_digest=encoder_digest(arrays),
    )
    return module_of(network.tokens, network.width, sizes, network.dtype, arrays, claim)


def _check_fits(model: Proved) -> None:
    network, certificate = model.network, model.certificate
    if certificate.kind is not Evidence.PROGRAM:
        raise ExportError(
            f"a model in an encoder with layer norms must be compiled: the norms' error is followed step by step; this "
            f"one is {'a table' if certificate.grid is not None else 'an interpolant'}. Build it with method='compile'."
        )
    if network.pattern is not None:
        raise ExportError(
            "a model in nn.TransformerEncoder must let every token attend to every token: its mask is the same in all "
            "layers; this one has a sparse pattern. Build it without a pattern."
        )
    if network.dtype not in (FLOAT64, FLOAT32):
        raise ExportError(f"a model in nn.TransformerEncoder must be float64 or float32; this one is {network.dtype}.")
    if digest(network) != certificate.weights_digest:
        raise CertificateError(
            "the certificate must belong to the network; it speaks of other weights. Keep a model and its certificate "
            "together."
        )
