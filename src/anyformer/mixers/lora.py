"""Which parts of a BERT of mixers LoRA adapts if it is not told: `peft` keeps a list for each type of model."""

import sys
from typing import Final

LORA_TARGETS: Final = ("query", "value", "gate", "attention.output.dense")
"""Query and value of attention, as in BERT; the gate of a convolution; and W_O, the one linear map that every mixer
has, also those with no other (averages, bilinear projections, plain convolutions, a mixer of your own)."""
MODEL_TYPES: Final = ("mixer-bert", "mixer-roberta")


def name_lora_targets() -> None:
    """Enter them into the list of `peft`, which is imported; so `LoraConfig()` needs no `target_modules`."""
    theirs = sys.modules["peft.utils.constants"].TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING
    for kind in MODEL_TYPES:
        theirs.setdefault(kind, list(LORA_TARGETS))
