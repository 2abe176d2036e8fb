"""All of these are skipped where PyTorch is not installed, and those of BERT where transformers is not."""

import pytest

pytest.importorskip("torch", reason="mixers need PyTorch: pip install anyformer[bert]")
