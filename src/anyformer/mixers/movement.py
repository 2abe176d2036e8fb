"""The theory in numbers: how many output tokens move, and how far, when a few input tokens change.

The paper needs a mixer to be a pairwise contextual mapping: two contexts that differ anywhere must differ everywhere.
For BProj it argues so: X₁ − X₂ is sparse, W_P is random, hence (X₁ − X₂) W_P is dense.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from anyformer.errors import MixerError
from anyformer.mixers.mixer import Mixer, TokenMixer, positive


@dataclass(frozen=True)
class Movement:
    """What a change of some input tokens did to the output tokens; means over pairs of random sequences."""

    mixer: Mixer
    tokens: int
    changed: int
    """Input tokens that differ within a pair, at random places."""
    moved: float
    """Output tokens that differ by more than rounding."""
    smallest: float
    """Distance of the output token that moved least, in units of the distance of a changed input token."""
    distances: tuple[float, ...]
    """Distance of the output token, in the same units, by how far it stands from the nearest changed one: 0, 1, 2, …"""

    @property
    def share(self) -> float:
        """Moved output tokens among all: 1.0 is dense."""
        return self.moved / self.tokens


def measure_movement(
    mixer: Mixer,
    changes: Iterable[int] = (1, 2, 4, 8),
    *,
    width: int = 48,
    tokens: int = 96,
    pairs: int = 64,
    seed: int = 0,
) -> list[Movement]:
    """Draw a mixer's parameters and pairs of sequences that differ in k tokens, and compare the outputs.

    Args:
        mixer: a value with `build(width)`.
        changes: the numbers k, each from 1 to `tokens`.
        width: numbers per token.
        tokens: the length of the sequences.
        pairs: how many pairs, each with standard normal tokens.
        seed: of everything that is drawn.

    Returns:
        One Movement for each k.

    Example:
        >>> from anyformer.mixers import Bilinear
        >>> measure_movement(Bilinear(max_length=96), changes=[1])[0].share
        1.0
    """
    positive("pairs", pairs)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        built = mixer.build_layer(0, width).double().eval()
        return [_measure(mixer, built, changed, tokens, pairs) for changed in changes]


def _measure(mixer: Mixer, built: TokenMixer, changed: int, tokens: int, pairs: int) -> Movement:
    if not 1 <= changed <= tokens:
        raise MixerError(f"the changed tokens must be from 1 to tokens = {tokens}; got {changed}.")
    first, fresh = torch.randn(2, pairs, tokens, built.width, dtype=torch.float64)
    places = torch.rand(pairs, tokens).argsort(dim=1) < changed
    second = torch.where(places[..., None], fresh, first)
    before, after = built(first), built(second)
    step = (second - first).norm(dim=2).sum(dim=1, keepdim=True) / changed
    distance = (after - before).norm(dim=2)
    # Two runs on the same numbers may add them in another order: at most tokens + 2·width products of this size.
    rounding = (tokens + 2 * built.width) * torch.finfo(before.dtype).eps * before.abs().max() * built.width**0.5
    relative = distance / step
    return Movement(
        mixer=mixer,
        tokens=tokens,
        changed=changed,
        moved=float((distance > rounding).double().sum(dim=1).mean()),
        smallest=float(relative.min(dim=1).values.mean()),
        distances=_by_distance(relative, places),
    )


def _by_distance(relative: Tensor, places: Tensor) -> tuple[float, ...]:
    """The mean movement of the output tokens that stand 0, 1, 2, … from the nearest changed token."""
    every = torch.arange(places.shape[1])
    gaps = (every[:, None] - every).abs().expand(len(places), -1, -1)
    nearest = gaps.masked_fill(~places[:, None, :], places.shape[1]).min(dim=2).values
    sums = torch.zeros(places.shape[1], dtype=torch.float64).index_add(0, nearest.flatten(), relative.flatten())
    counts = torch.bincount(nearest.flatten(), minlength=places.shape[1])
    return tuple((sums / counts)[counts > 0].tolist())
