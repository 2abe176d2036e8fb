"""All of these are skipped where PyTorch is not installed, and those of BERT where transformers is not."""

import os

import pytest

# Before transformers is imported: nothing here may ask the network.
os.environ["HF_HUB_OFFLINE"] = "1"

pytest.importorskip("torch", reason="mixers need PyTorch: pip install anyformer[bert]")
