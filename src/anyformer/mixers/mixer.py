"""What a mixer is: a value that says which one, and the module that it builds.

A mixer stands where self-attention stood in a block: after it come the block's output projection W_O, which every block
has, and the residual. So the paper's BProj(X) = X + W_O X W_P is `X + W_O(mixer(X))`.
"""

import reprlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from anyformer.errors import MixerError
from anyformer.mixers.soundness import fault_of, unsound
from anyformer.whole_numbers import from_one

NORMS = ("after", "before")
"""Where a block has its norms: on what comes out of a residual sum, as in BERT, or on what goes into a mixer."""


class TokenMixer(nn.Module, ABC):
    """(batch, tokens, width) → the same shape: the only place of a block where tokens meet.

    Every subclass promises what `check_mixer` checks. For example: the contents and the amount of padding do not affect
    the tokens that are kept, and a sequence of only padding gives zeros.
    """

    without_onnx: ClassVar[str] = ""
    """Why it cannot be exported to ONNX, if it cannot, and what to do instead."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, hidden: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Mix the tokens.

        Args:
            hidden: (batch, tokens, width).
            attention_mask: (batch, tokens), 1 = keep and 0 = padding; None keeps all.

        Returns:
            (batch, tokens, width); values at padding are finite but mean nothing.
        """
        mixed = self.mix(hidden, self.kept(hidden, attention_mask))
        # A residual would spread a wrong shape over all tokens in silence. Exported graphs are compared afterwards.
        if not is_exported() and (fault := fault_of(mixed, hidden)):
            raise unsound(self._called, fault)
        return mixed

    @property
    def _called(self) -> str:
        """What messages call it."""
        return type(self).__name__

    @abstractmethod
    def mix(self, hidden: Tensor, keep: Tensor | None) -> Tensor:
        """Mix tokens of the right shape; `keep` is Boolean, and None where all are kept."""

    def projected(self, hidden: Tensor, attention_mask: Tensor | None, projection: nn.Module) -> Tensor:
        """`projection(self(hidden, attention_mask))`, for a linear map of each token; some mixers know a faster way."""
        mixed: Tensor = projection(self(hidden, attention_mask))
        return mixed

    def reset_parameters(self, normal: Callable[..., Any] = nn.init.normal_) -> None:
        """Draw new values for the parameters that are not in a submodule, by `normal(parameter, std=…)`."""

    def weights(self, hidden: Tensor, attention_mask: Tensor | None = None) -> Tensor | None:
        """(batch, heads, tokens, tokens): how much each token takes from each other; None if there is no such thing.

        Only attention has them; `measure_movement` shows for every mixer how tokens move with others.
        """
        return None

    def kept(self, hidden: Tensor, attention_mask: Tensor | None) -> Tensor | None:
        """The mask as Booleans, after a look at the shapes."""
        if hidden.dim() != 3 or hidden.shape[-1] != self.width:
            raise MixerError(
                f"hidden must have the shape (batch, tokens, {self.width}); got {tuple(hidden.shape)}."
                " Build the mixer for the width at hand."
            )
        if attention_mask is None:
            return None
        if attention_mask.dim() != 2 or attention_mask.shape != hidden.shape[:2]:
            raise MixerError(
                f"attention_mask must have the shape (batch, tokens) of hidden, {tuple(hidden.shape[:2])};"
                f" got {tuple(attention_mask.shape)}. Give the tokenizer's mask, 1 = keep, as it is."
            )
        return attention_mask if attention_mask.dtype == torch.bool else attention_mask != 0


class Mixer(ABC):
    """A mixer as a value: frozen data that fits into a config, compares, and builds the module.

    >>> from anyformer.mixers import Average
    >>> Average().build(width=6)
    AverageAttention()
    """

    without_causal: ClassVar[str] = (
        "it defines no `causal()`, a form in which tokens see only themselves and earlier ones"
    )
    """Why there is no causal form, if there is none."""

    @property
    def longest(self) -> int | None:
        """How many tokens a sequence may have at most; None where any number will do."""
        return None

    @abstractmethod
    def build(self, width: int, dropout: float = 0.0) -> nn.Module:
        """A TokenMixer with fresh parameters, or any module of (hidden, keep), `keep` being Boolean (batch, tokens).

        Attention drops its weights with the given probability in training.
        """

    def build_layer(self, layer: int, width: int, dropout: float = 0.0) -> TokenMixer:
        """The module for this layer of a network, counted from 0; most mixers are the same in all layers."""
        from anyformer.mixers.adopted import built_by

        return built_by(self, width, dropout)

    def same_weights_as(self) -> "Mixer":
        """A mixer with the same weights: `convert` keeps them where the old and the new mixer give the same answer."""
        return self

    def causal(self) -> "Mixer":
        """The causal form: no token gets anything from a later one. A mixer that is causal is its own.

        >>> from anyformer.mixers import Attention
        >>> Attention(heads=4).causal()
        CausalAttention(heads=4)
        """
        raise MixerError(
            f"a mixer of a decoder must have a causal form; {self!r} has none: {self.without_causal}. Take attention,"
            " sparse-attention, convolution, plain-convolution or average, or define `causal` in a mixer of your own."
        )

    def useful(self, longest: int) -> Mapping[str, int]:
        """The most that sequences of at most `longest` tokens can use, for those of its sizes that follow from it."""
        return {}

    def require_within(self, longest: int) -> None:
        """Raise MixerError if a size is more than such sequences can use; the usual one, its default, always may be."""
        for name, most in self.useful(longest).items():
            size = getattr(self, name)
            if size > max(most, getattr(type(self), name, most)):
                raise MixerError(
                    f"{name} must be at most {most} where sequences have at most {longest} tokens, because the rest"
                    f" would never be used; got {reprlib.repr(size)}. Choose a smaller {name}."
                )


def causal_form(mixer: Mixer) -> Mixer:
    """Its causal form; raises MixerError if there is none, or if what somebody's `causal` gives is not causal."""
    form: object = mixer.causal()
    if not isinstance(form, Mixer) or form.causal() != form:
        raise MixerError(
            f"causal must give a registered mixer that is its own causal form; that of {mixer!r} gave {form!r:.200}."
            " Give one whose `causal` returns itself."
        )
    return form


def is_causal(mixer: Mixer) -> bool:
    """Whether a mixer promises that no token gets anything from a later one."""
    try:
        return mixer.causal() == mixer
    except MixerError:
        return False


def longest_sequence(positions: int, mixers: Iterable[Mixer]) -> int:
    """How many tokens a network takes: it has a position for each, and no mixer allows fewer."""
    return min(positions, *(mixer.longest for mixer in mixers if mixer.longest is not None), positions)


def is_traced() -> bool:
    """Whether a graph is being traced that must work for every mask and every length, not only for the present ones."""
    return is_exported() or torch.compiler.is_compiling()


def is_exported() -> bool:
    """Whether the graph that is being traced must work for every length.

    torch.compile makes another graph for another length, or one that checks on which side of a bound a length is.
    """
    return torch.jit.is_tracing() or torch.compiler.is_exporting()


def positive(name: str, value: int, most: int | None = None) -> None:
    """Raise MixerError unless the value is a whole number from 1, and at most `most`."""
    from_one(name, value, MixerError)
    if most is not None and value > most:
        raise MixerError(f"{name} must be at most {most}; got {reprlib.repr(value)}. Choose a smaller one.")


def divides(name: str, parts: int, width: int) -> None:
    """Raise MixerError unless the width can be cut into so many equal parts."""
    positive("width", width)
    if width % parts:
        nearest = next(count for count in range(min(parts, width), 0, -1) if width % count == 0)
        raise MixerError(
            f"{name} must divide the width; got {name} = {parts} and width = {width}. Choose {nearest}, for example."
        )
