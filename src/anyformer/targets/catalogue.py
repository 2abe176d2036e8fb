"""The ready-made targets by their names on the command line."""

from typing import Any, Final

from anyformer.catalogues import Catalogue
from anyformer.errors import TargetError
from anyformer.targets.attention_layer import attention
from anyformer.targets.equivariant import bump, centre, centroid_distance, mean_scale, power_sums, softmax
from anyformer.targets.positional import copy_first, cumulative_mean, moving_average, reverse, running_maximum, sort
from anyformer.targets.target import Target

CATALOGUE: Final = Catalogue[Target](
    "ready-made target",
    {
        "mean-scale": mean_scale,
        "softmax": softmax,
        "attention": attention,
        "centre": centre,
        "centroid-distance": centroid_distance,
        "bump": bump,
        "power-sums": power_sums,
        "sort": sort,
        "reverse": reverse,
        "running-maximum": running_maximum,
        "cumulative-mean": cumulative_mean,
        "moving-average": moving_average,
        "copy-first": copy_first,
    },
    TargetError,
    sizes=("tokens", "width"),
    advice="For your own function give path/to/file.py:function.",
)


def ready_made(name: str, tokens: int, width: int = 1, **parameters: Any) -> Target:
    """The target of this name.

    >>> ready_made("softmax", tokens=3, sharpness=5.0).parameters["sharpness"]
    5.0

    Args:
        name: one of CATALOGUE.
        tokens: the length of the sequences, at least 2.
        width: the size of a token, at least 1.
        **parameters: what the constructor of this target takes besides.

    Returns:
        The target; `ready_made(t.name, t.tokens, t.width, **t.parameters) == t`.
    """
    return CATALOGUE.make(name, tokens, width, **parameters)


def is_ready_made(target: Target) -> bool:
    """Whether the catalogue rebuilds exactly this target from its name, sizes and parameters.

    The name alone is not enough: a user may call any function "softmax".
    """
    if target.name not in CATALOGUE:
        return False
    try:
        return ready_made(target.name, target.tokens, target.width, **target.parameters) == target
    except TargetError:
        return False


def descriptions() -> dict[str, str]:
    """One line about every ready-made target, by name.

    >>> descriptions()["reverse"]
    'The tokens in the opposite order.'
    """
    return CATALOGUE.descriptions()
