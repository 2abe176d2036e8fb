"""Without PyTorch or TransformerLens, what is missing is named with its cure."""

import subprocess
import sys

import pytest

from anyformer.errors import MissingPackageError
from anyformer.exports.transformer_lens import to_transformer_lens


def test_the_encoder_names_what_it_needs():
    script = "import sys; sys.modules['torch'] = None\nimport anyformer.exports.stock"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert "torch must be installed for a model in nn.TransformerEncoder" in done.stderr
    assert 'pip install "anyformer[torch]"' in done.stderr


def test_transformer_lens_is_imported_when_it_is_used(monkeypatch, compiled_models):
    script = (
        "import sys, anyformer.exports.transformer_lens; assert not {'torch', 'transformer_lens'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    monkeypatch.setitem(sys.modules, "transformer_lens.model_bridge", None)
    with pytest.raises(
        MissingPackageError, match=r"must be installed for TransformerLens.*anyformer\[interpretability\]"
    ):
        to_transformer_lens(compiled_models[0])
