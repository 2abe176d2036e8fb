"""The module: a linear embedding, PyTorch's own encoder, a linear read-out."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from anyformer.arrays import Array
from anyformer.errors import ExportError
from anyformer.exports.stock.certificate import StockCertificate, encoder_digest
from anyformer.exports.stock.norm import EPSILON
from anyformer.exports.stock.weights import EncoderSizes
from anyformer.networks.dtypes import DType


class StockTransformer(nn.Module):
    """read_out(encoder(embed(x) + positions)), on (batch, tokens, width); every part is PyTorch's own."""

    def __init__(
        self, tokens: int, width: int, sizes: EncoderSizes, dtype: DType, certificate: StockCertificate
    ) -> None:
        super().__init__()
        kind = getattr(torch, dtype.name)
        layer = nn.TransformerEncoderLayer(
            sizes.d_model,
            sizes.nhead,
            sizes.dim_feedforward,
            dropout=0.0,
            activation="relu",
            layer_norm_eps=EPSILON,
            batch_first=True,
            norm_first=True,
            dtype=kind,
        )
        self.embed = nn.Linear(width, sizes.d_model, bias=False, dtype=kind)
        self.positions = nn.Parameter(torch.zeros(tokens, sizes.d_model, dtype=kind))
        # Nested tensors are for padded sequences, and warn if the norm comes first.
        self.encoder = nn.TransformerEncoder(layer, sizes.num_layers, enable_nested_tensor=False)
        self.read_out = nn.Linear(sizes.d_model, width, dtype=kind)
        self.certificate = certificate

    def forward(self, x: Tensor) -> Tensor:
        """The outputs for sequences (batch, tokens, width) of the module's type."""
        tokens, width = len(self.positions), self.embed.in_features
        if x.ndim != 3 or tuple(x.shape[1:]) != (tokens, width) or x.dtype != self.positions.dtype:
            raise ExportError(
                f"sequences must be {self.positions.dtype} of shape (batch, {tokens}, {width}); got {x.dtype} of shape "
                f"{tuple(x.shape)}. Convert them, or build the model for their size."
            )
        return self.read_out(self.encoder(self.embed(x) + self.positions))

    @property
    def is_certified(self) -> bool:
        """Whether the weights are still those that the certificate speaks of, to the last bit."""
        arrays = {name: tensor.detach().double().cpu().numpy() for name, tensor in self.state_dict().items()}
        same_type = str(self.positions.dtype) == f"torch.{self.certificate.dtype}"
        return same_type and encoder_digest(arrays) == self.certificate.encoder_digest


def module_of(
    tokens: int, width: int, sizes: EncoderSizes, dtype: DType, arrays: Mapping[str, Array], claim: StockCertificate
) -> StockTransformer:
    """The module with these weights, in evaluation mode."""
    with torch.random.fork_rng(devices=[]):  # PyTorch draws weights, which are replaced at once
        module = StockTransformer(tokens, width, sizes, dtype, claim)
    kind = getattr(torch, dtype.name)
    module.load_state_dict({name: torch.tensor(array, dtype=kind) for name, array in arrays.items()})
    return module.eval()
