"""The configuration of a BERT with one mixer a layer."""

from collections.abc import Iterable, Mapping
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
            self.mixers = [_described(mixer, sizes) for mixer in _several(self.mixers)]
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


def _several(mixers: object) -> Iterable[Any]:
    if not isinstance(mixers, Iterable) or isinstance(mixers, str | Mapping):
        raise MixerError(
            f"mixers must be a list, one mixer a layer; got {mixers!r:.200}. Write [mixer] * layers for one kind."
        )
    return mixers


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


def _both_ways(id2label: object, label2id: object) -> tuple[dict[int, Any] | None, dict[Any, int] | None]:
    """The names of classes by number, and the numbers by name; `transformers` leaves either as it is.

    LABEL_0, LABEL_1, … are its placeholders; they are ignored where real names are given. Several names may stand for
    one class: each class then has the one that `id2label` says.
    """
    names = None if id2label is None else {_whole(key): name for key, name in _table("id2label", id2label).items()}
    numbers = None if label2id is None else {key: _whole(one) for key, one in _table("label2id", label2id).items()}
    if numbers is not None and (
        names is None or (_are_placeholders(names.values()) and not _are_placeholders(numbers))
    ):
        _require_counted("label2id", numbers.values(), numbers)
        return {number: name for name, number in sorted(numbers.items(), key=lambda item: item[1])}, numbers
    if names is None:
        return None, None
    _require_counted("id2label", names, names)
    if numbers is None or _are_placeholders(numbers):
        numbers = {name: number for number, name in names.items()}
    _require_agreement(names, numbers)
    return names, numbers


def _table(entry: str, given: object) -> Mapping[Any, Any]:
    if not isinstance(given, Mapping):
        wanted = "{0: 'no', 1: 'yes'}" if entry == "id2label" else "{'no': 0, 'yes': 1}"
        raise MixerError(f"{entry} must be a dictionary, such as {wanted}; got {given!r:.200}. Write it so.")
    return given


def _whole(number: object) -> int:
    """A number of a class; JSON has texts for those in `id2label`."""
    if isinstance(number, int) or (isinstance(number, str) and number.isdecimal()):
        return int(number)
    raise MixerError(f"the number of a class must be a whole number; got {number!r:.200} in id2label or label2id.")


def _are_placeholders(names: Iterable[Any]) -> bool:
    return all(str(name).startswith("LABEL_") for name in names)


def _require_counted(entry: str, numbers: Iterable[int], given: object) -> None:
    """Every class has a place among the outputs of a model, and every place a class."""
    if sorted(numbers) != list(range(len(list(numbers)))):
        raise MixerError(
            f"the classes of {entry} must have the numbers 0, 1, 2, … once each; got {given!r:.300}. Number them anew."
        )


def _require_agreement(names: dict[int, Any], numbers: dict[Any, int]) -> None:
    lost = [name for name in names.values() if names.get(numbers.get(name, -1)) != name]
    unknown = [name for name, number in numbers.items() if number not in names]
    if lost or unknown:
        raise MixerError(
            f"id2label and label2id must say the same; got {names!r:.300} and {numbers!r:.300}, which differ in"
            f" {(lost + unknown)[0]!r:.200}. Give one of them: the other follows."
        )
