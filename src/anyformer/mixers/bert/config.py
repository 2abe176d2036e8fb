"""The configuration of a BERT with one mixer a layer."""

from collections.abc import Mapping
from typing import Any, Final

from transformers import BertConfig

from anyformer.errors import MixerError
from anyformer.mixers.attention import Attention
from anyformer.mixers.catalogue import from_json, to_json
from anyformer.mixers.fitting import NetworkSizes, fitting
from anyformer.mixers.mixer import NORMS, Mixer, causal_form, longest_sequence

_NAMES: Final = ("id2label", "label2id")


class MixerBertConfig(BertConfig):
    """BERT's configuration, `mixers` and `norm`.

    `mixers` is for each layer a mixer or its JSON object; None is attention of `num_attention_heads` in every layer, so
    a stock BERT's config.json is one of these too. `norm` is "after", as in BERT, where each residual sum is normed, or
    "before", where what goes into the mixer and the feed-forward part is, and the sums are left alone until the end:
    such models leave the plateau of word frequencies earlier. With `is_decoder` each mixer stands for its causal form.

    >>> from anyformer.mixers import hybrid
    >>> MixerBertConfig(mixers=hybrid(12, 2)).mixers[1]
    {'kind': 'convolution', 'kernel': 128, 'filters': 16}
    """

    model_type = "mixer-bert"

    id2label: dict[Any, Any] | None = None
    label2id: dict[Any, Any] | None = None
    mixers: list[dict[str, Any]] | None = None
    norm: str = "after"

    def __post_init__(self, **kwargs: Any) -> None:
        self.id2label, self.label2id = _both_ways(self.id2label, self.label2id)
        super().__post_init__(**kwargs)
        if self.mixers is not None:
            sizes = NetworkSizes(self.hidden_size, self.num_attention_heads, self.max_position_embeddings)
            self.mixers = [_described(mixer, sizes) for mixer in self.mixers]
        if self.norm not in NORMS:
            raise MixerError(f"norm must be one of {', '.join(NORMS)}; got {self.norm!r}.")
        if self.add_cross_attention:
            raise MixerError("a BERT of mixers must read one text; got add_cross_attention. Leave it out.")
        # Generation reads the whole text again for every word; most mixers have no keys and values to keep.
        self.use_cache = False
        if self.is_decoder:
            for mixer in self.layer_mixers:
                mixer.require_within(self.max_position_embeddings)

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """As every config does; names of classes among `kwargs` replace those in the file in both directions."""
        given = {key: kwargs.pop(key) for key in _NAMES if kwargs.get(key) is not None}
        kept = {key: entry for key, entry in config_dict.items() if not (given and key in _NAMES)}
        return super().from_dict({**kept, **given}, **kwargs)

    @property
    def longest_input(self) -> int:
        """How many tokens a model takes at most."""
        return longest_sequence(self.max_position_embeddings, self.layer_mixers)

    @property
    def layer_mixers(self) -> tuple[Mixer, ...]:
        """The mixer of each layer; of a decoder, in its causal form."""
        return tuple(causal_form(mixer) for mixer in self._named_mixers) if self.is_decoder else self._named_mixers

    @property
    def _named_mixers(self) -> tuple[Mixer, ...]:
        if self.mixers is None:
            return (Attention(self.num_attention_heads),) * self.num_hidden_layers
        if len(self.mixers) != self.num_hidden_layers:
            raise MixerError(
                f"there must be one mixer a layer, num_hidden_layers = {self.num_hidden_layers};"
                f" got {len(self.mixers)}. Write [mixer] * {self.num_hidden_layers} for one kind, or hybrid(…)."
            )
        return tuple(from_json(described) for described in self.mixers)


def _described(mixer: Mixer | Mapping[str, Any], sizes: NetworkSizes) -> dict[str, Any]:
    """The JSON object of a mixer, complete with the sizes that were left out, as they fit the network."""
    if not isinstance(mixer, Mixer | Mapping):
        raise MixerError(
            f"mixers must be mixers or their JSON objects, one a layer; got {mixer!r}. A class of your own"
            " must be registered first, by register_mixer."
        )
    made = mixer if isinstance(mixer, Mixer) else fitting(mixer, sizes)
    made.require_within(sizes.longest)
    return to_json(made)


Names = dict[Any, Any] | None


def _both_ways(id2label: Names, label2id: Names) -> tuple[Names, Names]:
    """The names of classes by number, and the numbers by name; `transformers` leaves either as it is.

    LABEL_0, LABEL_1, … are its placeholders; they are ignored where real names are given.
    """
    if id2label is None:
        return (None, None) if label2id is None else ({number: name for name, number in label2id.items()}, label2id)
    if label2id is None or all(str(name).startswith("LABEL_") for name in label2id):
        label2id = {name: int(number) for number, name in id2label.items()}
    return id2label, label2id
