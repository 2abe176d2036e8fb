"""The configuration of a network, in the form of Hugging Face."""

import json
from pathlib import Path
from typing import Any

from transformers import PreTrainedConfig

from anyformer import strict_json
from anyformer.errors import ModelFileError
from anyformer.exports.config import Config, config_from_json
from anyformer.networks.dtypes import FLOAT64, as_dtype


class AnyformerConfig(PreTrainedConfig):
    """Everything about a network but its numbers, as plain data.

    `network` is what a model folder's config.json holds, apart from the dtype, for which `transformers` has a field of
    its own; None is float64.

    >>> AnyformerConfig.of(Config.of(af.construct("sort", 0.4, tokens=2).network)).network["tokens"]
    2
    """

    model_type = "anyformer"

    network: dict[str, Any] | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        super().__post_init__(**kwargs)
        if self.network is not None:
            _ = self.structure  # raises if it describes no network

    @classmethod
    def of(cls, structure: Config) -> "AnyformerConfig":
        """The configuration of a network with this structure."""
        described = {name: value for name, value in structure.to_json().items() if name != "dtype"}
        # Through JSON, so that it is what a reader of the file gets.
        return cls(network=strict_json.loads(json.dumps(described)), dtype=structure.dtype)

    @property
    def structure(self) -> Config:
        """The structure that it describes, checked field by field."""
        if self.network is None:
            raise ModelFileError(
                "a configuration must describe a network; its field network is empty. Make it with to_huggingface."
            )
        if "dtype" in self.network:
            raise ModelFileError("config.json: network.dtype must not be there; dtype stands beside network.")
        dtype = FLOAT64.name if self.dtype is None else as_dtype(self.dtype).name
        return config_from_json(json.dumps({**self.network, "dtype": dtype}), Path("config.json: network"))

    @property
    def hidden_size(self) -> int:
        """Numbers per token between the layers."""
        return self.structure.stream_width or self.structure.width

    @property
    def num_hidden_layers(self) -> int:
        """Layers of both kinds."""
        return sum(entry.layers for entry in self.structure.stages)

    @property
    def num_attention_heads(self) -> int:
        """The most heads of a layer."""
        return self.structure.heads
