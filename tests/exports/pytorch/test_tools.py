"""Tools of others take the module as it is: nnsight, torch.export and torch.compile."""

import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch

from anyformer.exports.pytorch import from_torch, to_torch
from anyformer.networks.digest import digest
from tests.exports.pytorch.samples import inputs, networks

NETWORKS = networks()
PAGE = Path(__file__).parents[3] / "docs" / "pytorch.md"


@pytest.mark.slow
def test_nnsight_reads_and_changes_stages():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its dependencies use what is deprecated
        nnsight = pytest.importorskip("nnsight")
    network = NETWORKS["embedded sparse"]
    x = torch.tensor(inputs(network))
    with torch.no_grad():
        wanted = to_torch(network)(x, output_hidden_states=True, output_attentions=True)
        model = nnsight.NNsight(to_torch(network))
        with model.trace(x):
            units = model.stages[0].activation.output.save()
            weights = model.stages[1].probability_map.output.save()
            state = model.stages[1].output.save()
            output = model.output.save()
        assert units.shape == (4, 7, 7)
        assert torch.equal(weights, wanted.attentions[0])
        assert torch.equal(state, wanted.hidden_states[3])
        assert torch.equal(output, wanted.output)
        with model.trace(x):
            model.stages[4].output[:] = 0.0
            changed = model.output.save()
    assert torch.equal(changed, torch.tensor(network.b_R).expand_as(changed))


@pytest.mark.slow
def test_nnsight_does_what_the_page_shows(tmp_path):
    """In a file of its own, for nnsight reads the source of what it traces."""
    (code,) = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "page.py").write_text(code)
    ran = subprocess.run([sys.executable, tmp_path / "page.py"], capture_output=True, text=True, check=True)
    assert ran.stdout == "(7, 1, 5, 5) (7, 5, 1)\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["embedded sparse", "None Softmax()"])
def test_modules_are_exported_for_any_batch(name):
    network = NETWORKS[name]
    module, x = to_torch(network), torch.tensor(inputs(network))
    program = torch.export.export(module, (x,), dynamic_shapes=({0: torch.export.Dim("batch")},))
    for batch in (2, 3, 4):
        assert torch.equal(program.module()(x[:batch]), module(x[:batch]))


@pytest.mark.slow
def test_modules_are_compiled():
    network = NETWORKS["embedded sparse"]
    module, x = to_torch(network), torch.tensor(inputs(network))
    # Inductor needs a C++ compiler; the graph is the same.
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(x), module(x))
    assert digest(from_torch(compiled)) == digest(network)
