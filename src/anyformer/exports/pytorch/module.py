"""A network as one PyTorch module."""

from torch import Tensor, nn

from anyformer.exports.config import Config
from anyformer.exports.pytorch.parts import Recorded, add_parts, run_parts


class NetworkModule(nn.Module):
    """A network whose parameters have the names of the file's arrays: `stages.0.W_Q` [layers, heads, head_size, …].

    A stage is a module, `stages[k]`, whatever the number of its layers: it can be hooked, and its output is the stream
    (batch, tokens, stream_width). `stages[k].probability_map` is called once for each attention layer and returns its
    weights; `stages[k].activation` does the same for hidden units.
    """

    def __init__(self, structure: Config) -> None:
        super().__init__()
        add_parts(self, structure)

    def forward(
        self, x: Tensor, output_hidden_states: bool = False, output_attentions: bool = False
    ) -> Tensor | Recorded:
        """Run the network on (batch, tokens, width).

        Args:
            x: sequences of the weights' dtype.
            output_hidden_states: also return the stream before the first layer and after every layer.
            output_attentions: also return the weights of every attention layer.

        Returns:
            The output (batch, tokens, width); or, if more is asked for, `Recorded`. What it holds may be at most
            2 GiB in float64 (`parts.MOST_RECORDED`), which bounds the batch of a deep network.
        """
        recorded = run_parts(self, x, output_hidden_states, output_attentions)
        return recorded if output_hidden_states or output_attentions else recorded.output

    def extra_repr(self) -> str:
        """The shape of what goes in and comes out."""
        return f"tokens={self.structure.tokens}, width={self.structure.width}"
