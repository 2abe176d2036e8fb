"""A trial before a training: one layer of somebody's mixer is run on a few tokens, so that faults are told at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor, nn

from anyformer.errors import AnyformerError, MixerError, raised
from anyformer.mixers.adopted import draw_parameters
from anyformer.mixers.catalogue import to_json
from anyformer.mixers.mixer import Mixer, TokenMixer
from anyformer.mixers.registry import KIND
from anyformer.mixers.soundness import fact_of, fault_of, is_shipped, unsound

MOST_TOKENS: Final = 128
"""Longer windows are tried with so many tokens: a trial is to take no time and no memory."""
_CAUSAL: Final = "let no token see a later one, since next words are predicted"


def try_mixers(
    stack: Sequence[Mixer], width: int, tokens: int, dropout: float = 0.0, *, is_causal: bool = False
) -> None:
    """Try one layer of each mixer that is not the package's own; `check_mixer` takes longer and tests more."""
    for layer, mixer in enumerate(stack):
        if is_shipped(type(mixer)) or stack.index(mixer) < layer:
            continue
        trial = Trial(mixer, layer, width, tokens, dropout)
        trial.require_sound()
        if is_causal:
            trial.require_causal()


@dataclass(frozen=True)
class Trial:
    """A layer of a network, as it will be built. Two sequences, so many tokens and the width differ in size."""

    mixer: Mixer
    layer: int
    width: int
    tokens: int
    dropout: float = 0.0

    def require_sound(self) -> None:
        """Raise MixerError unless outputs have the shape and type of inputs, and those of kept tokens are finite."""
        tokens = min(self.tokens, MOST_TOKENS)
        tokens = tokens - 1 if tokens == self.width else tokens
        hidden = _drawn(0, 2, tokens, self.width)
        keep = torch.arange(tokens) < torch.tensor([tokens, tokens // 2 + 1])[:, None]
        mixed = self._mixed(hidden, keep.long())
        if not mixed[keep].isfinite().all():
            raise self._unsound("it gave numbers that are not finite")

    def require_causal(self) -> None:
        """Raise MixerError if tokens that are changed move the outputs of earlier ones."""
        tokens = min(self.tokens, MOST_TOKENS)
        cuts = sorted({1, tokens // 2, tokens - 1})
        first, other = (_drawn(seed, tokens, self.width) for seed in (0, 1))
        same = first.repeat(len(cuts), 1, 1)
        changed = torch.stack([torch.cat([first[:cut], other[cut:]]) for cut in cuts])
        before, again, after = (self._mixed(hidden) for hidden in (same, same, changed))
        # Two orders of adding a token's products differ by at most this, where a transform adds all tokens.
        rounding = (tokens + 2 * self.width) * torch.finfo(before.dtype).eps * max(1.0, float(before.abs().max()))
        if not (again - before).abs().max() <= rounding:
            raise self._unsound("the same input gave other outputs a second time", _CAUSAL)
        for row, cut in enumerate(cuts):
            moved = (after - before)[row, :cut].abs().max()
            if not moved <= rounding:
                raise self._unsound(f"other tokens from place {cut} on move the ones before by {moved:.1e}", _CAUSAL)

    def _mixed(self, hidden: Tensor, mask: Tensor | None = None) -> Tensor:
        with torch.random.fork_rng(devices=[]), torch.device("cpu"), torch.no_grad():
            torch.manual_seed(0)
            try:
                return self._run(self._fresh(), hidden, mask)
            except AnyformerError as error:
                if (fact := fact_of(error)) is None:
                    raise
                raise self._unsound(fact) from error
            except Exception as error:  # the code may be anybody's
                raise self._unsound(f"it raised {raised(error)}") from error

    def _fresh(self) -> TokenMixer:
        """The module, drawn as a model draws it."""
        module = self.mixer.build_layer(self.layer, self.width, self.dropout)
        for part in module.modules():
            draw_parameters(part, nn.init.normal_)
        return module.float().eval()

    def _run(self, module: TokenMixer, hidden: Tensor, mask: Tensor | None) -> Tensor:
        projected: object = module.projected(hidden.clone(), mask, nn.Linear(self.width, self.width))
        mixed: Tensor = module(hidden.clone(), mask)
        for given in (mixed, projected):
            if fault := fault_of(given, hidden):
                raise self._unsound(fault)
        return mixed

    def _unsound(self, fact: str, *must: str) -> MixerError:
        return unsound(f"the mixer {to_json(self.mixer)[KIND]!r}, {self.mixer!r},", fact, *must)


def _drawn(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float32, device="cpu", generator=torch.Generator("cpu").manual_seed(seed))
