"""Every mixer by name, mixers as JSON, and stacks of them. Own mixers are registered as ours are."""

import reprlib
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final, cast, overload

from anyformer.catalogues import Catalogue
from anyformer.errors import MixerError, PatternError, raised, words_of
from anyformer.installed import MIXERS
from anyformer.mixers.attention import Attention, CausalAttention
from anyformer.mixers.average import Average, CumulativeAverage
from anyformer.mixers.bilinear import Bilinear
from anyformer.mixers.convolution import (
    CausalConvolution,
    CausalPlainConvolution,
    Convolution,
    PlainConvolution,
)
from anyformer.mixers.fields import field_from_json, field_to_json
from anyformer.mixers.fourier import Fourier
from anyformer.mixers.mixer import Mixer
from anyformer.mixers.registry import KIND, Class, Registry
from anyformer.mixers.sparse_attention import PatternAttention


class Mixers(Catalogue[Mixer]):
    """A catalogue that reads fields as configs and command lines have them, and says which mixer could not be made."""

    def make(self, name: str, /, *sizes: Any, **parameters: Any) -> Mixer:
        """The mixer of this name; a field that holds a pattern or a mixer may be its JSON object, or a text."""
        taken = {field.name: field for field in fields(cast(Any, self[name]))} if name in self else {}
        try:
            read = {
                key: field_from_json(taken[key], value, _read) if key in taken else value
                for key, value in parameters.items()
            }
            return super().make(name, *sizes, **read)
        except MixerError:
            raise
        except PatternError as error:
            raise MixerError(f"the pattern of a mixer must be one that a config can hold: {error}") from error
        except Exception as error:  # the class may be anybody's
            raise MixerError(
                f"the mixer {name!r} must take its parameters; {reprlib.repr(parameters)} raised {raised(error)}."
                " Give others, or fix its class."
            ) from error


_REGISTRY: Final = Registry()
CATALOGUE: Final = Mixers(
    "mixer",
    _REGISTRY,
    MixerError,
    advice="A mixer of your own must be registered first: import the module that calls register_mixer, install the"
    f" package that announces it (entry point {MIXERS}), or give --plugin on the command line.",
)


@overload
def register_mixer(name: str, kind: Class) -> Class: ...


@overload
def register_mixer(name: str) -> Callable[[Class], Class]: ...


def register_mixer(name: str, kind: Class | None = None) -> Class | Callable[[Class], Class]:
    """Give a class of mixers a name, by which configs, recipes, saved models and the command line know it.

    Args:
        name: lower-case letters and digits, with hyphens between words.
        kind: a frozen dataclass with `build(width, dropout)`, which gives a TokenMixer or any module of (hidden, keep).
            Its fields are numbers, texts, None, tuples or lists of them, patterns, or other registered mixers.

    Returns:
        The class; without one, a decorator for it.

    Raises:
        MixerError: if the name belongs to another class, or the class is no such dataclass. Registering the same class
            again changes nothing, and running its code again replaces it.

    Example:
        >>> from dataclasses import dataclass
        >>> from torch import nn
        >>> class Kept(nn.Module):
        ...     def forward(self, hidden, keep):
        ...         return hidden * keep[..., None]
        >>> @register_mixer("each-alone")
        ... @dataclass(frozen=True)
        ... class EachAlone:
        ...     def build(self, width, dropout=0.0):
        ...         return Kept()
        >>> CATALOGUE.parse("each-alone")
        EachAlone()
    """
    if kind is None:
        return lambda decorated: _REGISTRY.register(name, decorated)
    return _REGISTRY.register(name, kind)


register_mixer("attention", Attention)
register_mixer("average", Average)
register_mixer("bilinear", Bilinear)
register_mixer("convolution", Convolution)
register_mixer("fourier", Fourier)
register_mixer("plain-convolution", PlainConvolution)
register_mixer("sparse-attention", PatternAttention)
register_mixer("causal-attention", CausalAttention)
register_mixer("causal-convolution", CausalConvolution)
register_mixer("causal-plain-convolution", CausalPlainConvolution)
register_mixer("cumulative-average", CumulativeAverage)


def to_json(mixer: Mixer) -> dict[str, Any]:
    """A mixer of a registered class as a JSON object.

    >>> to_json(Convolution(kernel=9, filters=4))
    {'kind': 'convolution', 'kernel': 9, 'filters': 4}
    """
    name = _REGISTRY.name_of(type(mixer))
    if name is None:
        raise MixerError(
            f"a mixer in a config must be of a registered class; {mixer!r:.200} is of {_place(mixer)}. Call"
            f" register_mixer('its-name', {type(mixer).__name__}); so far there are {', '.join(CATALOGUE)}."
        )
    described = {KIND: name, **{one.name: _field(mixer, one.name) for one in fields(cast(Any, mixer)) if one.init}}
    again = from_json(described)
    if again != mixer:
        raise MixerError(
            f"a mixer must be the same again after it was written as JSON; {mixer!r:.200} becomes {again!r:.200}."
            " Compare fields by value, and keep what __init__ gets."
        )
    return described


def _field(mixer: Mixer, name: str) -> Any:
    try:
        return field_to_json(getattr(mixer, name), to_json)
    except (ValueError, PatternError) as error:
        raise MixerError(
            f"a field of a mixer must be a number, a text, true, false, None, a tuple or list of such, a pattern or a"
            f" registered mixer; {name} of {type(mixer).__name__} is not: {words_of(error)}. Change the field."
        ) from error


def from_json(described: Mapping[str, Any]) -> Mixer:
    """The mixer that `to_json` described.

    >>> from_json({"kind": "bilinear", "max_length": 64})
    Bilinear(max_length=64)
    """
    sizes = dict(described)
    return CATALOGUE.make(sizes.pop(KIND, None), **sizes)


def _read(described: Mapping[str, Any] | str) -> Mixer:
    """A mixer in a field of another, as an object or as it is typed."""
    return CATALOGUE.parse(described) if isinstance(described, str) else from_json(described)


def _place(mixer: object) -> str:
    return f"{type(mixer).__module__}.{type(mixer).__qualname__}"


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
