"""`import anyformer.mixers` is enough for the Auto classes, before or after `transformers`."""

import subprocess
import sys

import pytest

pytest.importorskip("transformers", reason="BERT needs transformers: pip install anyformer[bert]")

from anyformer import mixers
from tests.mixers.bert_samples import small

OURS, THEIRS = "import anyformer.mixers", "from transformers import AutoModel, AutoModelForMaskedLM"
ORDERS = {
    "ours first": f"{OURS}; {THEIRS}",
    "theirs first": f"{THEIRS}; {OURS}",
    "asked whether it is installed": f"{OURS}; import importlib.util as u; u.find_spec('transformers'); {THEIRS}",
}


def said_by_a_new_process(script: str) -> str:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
def test_a_new_process_loads_folders(tmp_path, order):
    mixers.MixerBertModel(small()).save_pretrained(tmp_path / "bert")
    like_roberta = small().to_dict() | {"model_type": mixers.MixerRobertaConfig.model_type}
    mixers.MixerRobertaModel(mixers.MixerRobertaConfig(**like_roberta)).save_pretrained(tmp_path / "roberta")
    load = f"AutoModel.from_pretrained({str(tmp_path)!r} + name)"
    script = f"{ORDERS[order]}; print(*(type({load}).__name__ for name in ('/bert', '/roberta')))"
    assert said_by_a_new_process(script) == "MixerBertModel MixerRobertaModel"


@pytest.mark.slow
def test_importing_the_mixers_does_not_import_transformers():
    there = "print('transformers' in sys.modules)"
    assert said_by_a_new_process(f"import sys; {OURS}; {there}; import transformers; {there}") == "False\nTrue"


@pytest.mark.slow
def test_the_mixers_work_without_transformers():
    without = "import sys; sys.modules['transformers'] = None"
    assert said_by_a_new_process(f"{without}; {OURS} as m; print(m.Average().build(4))") == "AverageAttention()"
