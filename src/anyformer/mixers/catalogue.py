"""Every ready-made mixer by name, mixers as JSON, and stacks of them."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from anyformer.catalogues import Catalogue
from anyformer.errors import MixerError
from anyformer.mixers.attention import Attention
from anyformer.mixers.average import Average
from anyformer.mixers.bilinear import Bilinear
from anyformer.mixers.convolution import Convolution, PlainConvolution
from anyformer.mixers.mixer import Mixer
from anyformer.mixers.sparse_attention import PatternAttention
from anyformer.patterns import PatternFamily
from anyformer.patterns import to_json as pattern_to_json

ReadyMade = Attention | Average | Bilinear | Convolution | PatternAttention | PlainConvolution
_KINDS: Final[Mapping[str, type[ReadyMade]]] = {
    "attention": Attention,
    "average": Average,
    "bilinear": Bilinear,
    "convolution": Convolution,
    "plain-convolution": PlainConvolution,
    "sparse-attention": PatternAttention,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}
CATALOGUE: Final = Catalogue[Mixer]("mixer", _KINDS, MixerError)


def to_json(mixer: Mixer) -> dict[str, Any]:
    """A ready-made mixer as a JSON object.

    >>> to_json(Convolution(kernel=9, filters=4))
    {'kind': 'convolution', 'kernel': 9, 'filters': 4}
    """
    if not isinstance(mixer, ReadyMade):
        raise MixerError(f"a mixer in a config must be one of {', '.join(CATALOGUE)}; got {mixer!r}.")
    sizes = {field.name: getattr(mixer, field.name) for field in fields(mixer)}
    return {"kind": _NAMES[type(mixer)], **{name: _size_to_json(size) for name, size in sizes.items()}}


def _size_to_json(size: Any) -> Any:
    return pattern_to_json(size) if isinstance(size, PatternFamily) else size


def from_json(described: Mapping[str, Any]) -> Mixer:
    """The mixer that `to_json` described.

    >>> from_json({"kind": "bilinear", "max_length": 64})
    Bilinear(max_length=64)
    """
    sizes = dict(described)
    return CATALOGUE.make(sizes.pop("kind", None), **sizes)


def hybrid(
    layers: int, convolutions: int, *, below: Mixer | None = None, above: Mixer | None = None, heads: int = 12
) -> tuple[Mixer, ...]:
    """One mixer a layer: convolutions on the side of the input, attention above. The paper found one or two to be best.

    Args:
        layers: how many in all.
        convolutions: how many of them, counted from the input.
        below: another mixer than Convolution() for the first layers.
        above: another mixer than attention for the rest.
        heads: of attention; they must divide the width.

    Example:
        >>> hybrid(3, 1)
        (Convolution(kernel=128, filters=16), Attention(heads=12), Attention(heads=12))
    """
    if not 0 <= convolutions <= layers:
        raise MixerError(f"convolutions must be from 0 to layers = {layers}; got {convolutions}.")
    return (below or Convolution(),) * convolutions + (above or Attention(heads),) * (layers - convolutions)
