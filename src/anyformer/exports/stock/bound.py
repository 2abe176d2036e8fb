"""A proved bound of the largest error of a compiled network behind layer norms.

The checker's walk through the plain network is done again, with a stream on which every reading is off by what the
lemma of `norm` says. The lemma needs to know how large the channels are, also with the norm's own error: a little more
than in the plain network is assumed, and the walk's own magnitudes must then be within that. They only grow from layer
to layer, so that the assumption holds before every layer if it holds after the last.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anyformer.arrays import Array
from anyformer.certificates.programs.bound import bound_of_program
from anyformer.certificates.programs.hints import Hint
from anyformer.certificates.programs.overflow import check_no_overflow
from anyformer.certificates.programs.stream import Stream, must
from anyformer.exports.stock.norm import Norm, norm_for
from anyformer.networks.layers import FeedForwardStage
from anyformer.networks.network import Network
from anyformer.programs.program import Program


class NormedStream(Stream):
    """A stream that layers read through a norm."""

    def __init__(self, program: Program, network: Network, norm: Norm) -> None:
        super().__init__(program, network)
        self.norm = norm
        biases = [np.abs(stage.b_1).max() for stage in network.stages if isinstance(stage, FeedForwardStage)]
        # Rules that treat many units at once ask for a row alone, and add the roundings of a plain layer's biases.
        self.largest_bias = float(max(biases, default=0.0))

    def slip(self, row: Array, bias: float) -> float:
        """What the norm adds to the error of a reading."""
        return self.norm.reading_error(row, self.reach, abs(bias) + self.largest_bias)


@dataclass(frozen=True)
class NormedBound:
    """The largest error of the plain network, the same behind norms, and the norms that this holds for."""

    plain: float
    normed: float
    norm: Norm


def bound_behind_norms(program: Program, network: Network, hints: Sequence[Hint], width: int) -> NormedBound:
    """Both bounds, and the norm over `width` numbers with the C that suits the network.

    Raises NotShown if the weights do not show what the hints say.
    """
    stream = Stream(program, network)
    plain = bound_of_program(program, network, hints, stream).largest
    norm = norm_for(width, stream.reach, network.dtype)
    return NormedBound(plain, max(bound_behind(program, network, hints, norm), plain), norm)


def bound_behind(program: Program, network: Network, hints: Sequence[Hint], norm: Norm) -> float:
    """No entry of the output is off by more than this, if such a norm stands before every layer.

    Raises NotShown if the weights do not show it, or a channel is larger than the norm was made for.
    """
    stream = NormedStream(program, network, norm)
    found = bound_of_program(program, network, hints, stream).largest
    reach = stream.reach
    must(
        bool((reach**2).sum() <= norm.squares and reach.sum() <= norm.sizes and reach.max() <= norm.large),
        "the channels are as small behind the norms as without",
    )
    # What all outputs of a norm are shifted by is read too, before it cancels.
    check_no_overflow(network, reach + norm.shift)
    return found
