"""LoRA's default targets: `peft` finds something to adapt in every layer without being told."""

import pytest
import torch

pytest.importorskip("transformers", reason="BERT needs transformers: pip install anyformer[bert]")
pytest.importorskip("peft", reason="LoRA needs peft: pip install peft")

from anyformer import mixers
from anyformer.mixers import Attention, Average, Bilinear, Convolution, PatternAttention, PlainConvolution
from tests.mixers.bert_samples import small, words

ADAPTED = {
    Attention(heads=3): {"self.query", "self.value", "output.dense"},
    PatternAttention(heads=3, pattern="sliding-window:half_width=2"): {"self.query", "self.value", "output.dense"},
    Convolution(kernel=6, filters=4): {"self.gate", "output.dense"},
    PlainConvolution(kernel=6, filters=4): {"output.dense"},
    Bilinear(max_length=21): {"output.dense"},
    Average(): {"output.dense"},
}


def adapted(model) -> set[str]:
    """The parts of the layers' mixing that have something to learn."""
    names = [name for name, parameter in model.named_parameters() if parameter.requires_grad and ".layer." in name]
    assert all(".attention." in name for name in names)
    return {name.split(".attention.")[1].split(".lora_")[0] for name in names}


@pytest.fixture
def lora():
    import peft

    return lambda model: peft.get_peft_model(model, peft.LoraConfig(task_type="SEQ_CLS", r=2, lora_alpha=4))


@pytest.mark.slow
@pytest.mark.parametrize("mixer", ADAPTED, ids=lambda mixer: type(mixer).__name__)
@pytest.mark.parametrize("head", ["MixerBertForSequenceClassification", "MixerRobertaForSequenceClassification"])
def test_every_mixer_is_adapted_by_default(lora, mixer, head):
    torch.manual_seed(30)
    kind = getattr(mixers, head)
    config = kind.config_class(**{**small(mixers=[mixer] * 4).to_dict(), "model_type": kind.config_class.model_type})
    model = lora(kind(config).double())
    assert adapted(model) == ADAPTED[mixer]
    learned = [parameter for name, parameter in model.named_parameters() if "lora_B" in name]
    assert len(learned) == 4 * len(ADAPTED[mixer])
    assert any("classifier" in name and one.requires_grad for name, one in model.named_parameters())

    given = {**words(), "labels": torch.tensor([0, 1, 1])}
    before = model.eval()(**given).logits.detach()
    model(**given).loss.backward()
    assert all(parameter.grad.abs().max() > 0 for parameter in learned)
    with torch.no_grad():
        for parameter in learned:
            parameter.normal_()
        after = model(**given).logits
        merged = model.merge_and_unload()(**given).logits
    assert (after - before).abs().max() > 1e-6
    # The same sums in another order: four layers of at most three adapted matrices of 24 columns, of numbers below 100.
    assert (after - merged).abs().max() <= 4 * 3 * 24 * 100 * torch.finfo(torch.float64).eps


@pytest.mark.slow
def test_an_own_choice_stays(monkeypatch):
    """Whoever entered other targets before keeps them."""
    from peft.utils import constants

    entered = {"mixer-bert": ["key"]}
    monkeypatch.setattr(constants, "TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING", entered)
    mixers.lora.name_lora_targets()
    assert entered == {"mixer-bert": ["key"], "mixer-roberta": list(mixers.LORA_TARGETS)}
